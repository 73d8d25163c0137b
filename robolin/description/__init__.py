"""Readers of robot files: text to a description with located findings, then to an arm."""
