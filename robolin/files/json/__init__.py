"""JSON, read and written."""
