"""Layout of results as text and tables."""
