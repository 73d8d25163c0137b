"""Comparison of new results with stored results: tolerances, suites and model changes."""
