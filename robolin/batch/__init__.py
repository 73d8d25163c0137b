"""Batch runs over many recordings, with one output file per part or one table for all parts."""
