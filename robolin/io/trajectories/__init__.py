"""Named joint columns of a file as states in the arm's order, in pieces."""
