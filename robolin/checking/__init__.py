"""Stored results beside new ones: comparison, tolerances, suites, and what changed in a model."""
