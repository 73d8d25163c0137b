"""Readers and writers, one or two modules for each file format."""
