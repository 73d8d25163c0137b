"""Stored results beside new ones: comparison, tolerances, suites, changes of a model."""
