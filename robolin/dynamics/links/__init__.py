"""Where the links are, how they move, and what acts on them."""
