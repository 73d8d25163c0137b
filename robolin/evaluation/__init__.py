"""Which algorithm answers a question about an arm, on which engine, and what is wrong with a row."""
