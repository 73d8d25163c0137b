"""Closed loops: a tree of joints, and closures that hold frames of it together."""
