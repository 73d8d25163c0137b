"""Torques from motions, and how they change."""
