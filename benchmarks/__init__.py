"""Benchmarks of robolin: reference programs, growing robots, compilation, and complete commands.

`python -m benchmarks --help` lists the parts.
"""
