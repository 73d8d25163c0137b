"""Accelerations from torques, and how they change."""
