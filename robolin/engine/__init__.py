"""Execution of algorithms: in Python on any number type, with operation counts, or compiled."""
