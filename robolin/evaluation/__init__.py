"""Which algorithm answers, on which engine, and what is wrong with a row."""
