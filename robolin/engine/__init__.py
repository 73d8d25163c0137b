"""Run algorithms: directly on any number type, for counting operations, or compiled."""
