"""Every file format in both directions, and files that appear complete or not at all."""
