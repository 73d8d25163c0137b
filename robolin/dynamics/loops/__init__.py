"""Closures of loops: how far they stand open, what keeps them, and how both change."""
