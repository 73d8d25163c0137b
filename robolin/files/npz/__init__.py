"""NPZ, read and written."""
