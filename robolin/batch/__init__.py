"""Requests over many recordings: an ordered list of parts, one file each, or one table."""
