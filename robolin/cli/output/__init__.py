"""Answers in words and tables: how each of them is laid out."""
