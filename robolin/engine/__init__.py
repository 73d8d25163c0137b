"""How an algorithm is run: directly on any numbers, counted, or compiled."""
