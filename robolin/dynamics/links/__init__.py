"""Poses and motion of the links, and the forces that act on them."""
