"""Comparison of new results with stored ones: tolerances, suites and model changes."""
