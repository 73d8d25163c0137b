"""Computation of all commands: from a question and states to a result or a result stream."""
