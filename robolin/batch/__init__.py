"""Many recordings as one question: an ordered list of parts, each a file, or one table."""
