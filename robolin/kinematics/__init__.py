"""Which frame a question is about, and the axes its answer is written in."""
