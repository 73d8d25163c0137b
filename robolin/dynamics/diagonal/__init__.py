"""Diagonalized dynamics: quasi-velocities in which the mass matrix is diagonal."""
