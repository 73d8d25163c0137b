"""Readers and writers of all file formats, and atomic file replacement."""
