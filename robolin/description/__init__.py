"""Readers of robot files: they parse text, report findings by line, and build the arm."""
