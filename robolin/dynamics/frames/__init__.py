"""How frames move, and how the arm feels there."""
