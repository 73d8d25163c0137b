"""What writes pages and pictures of the docs from the code; `python -m tools` runs all of it."""
