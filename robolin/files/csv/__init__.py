"""CSV, read and written."""
