"""Generators of documentation pages and pictures; `python -m tools` runs all of them."""
