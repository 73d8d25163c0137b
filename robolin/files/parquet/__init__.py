"""Parquet, read and written."""
