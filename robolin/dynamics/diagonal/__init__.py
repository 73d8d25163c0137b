"""Dynamics in velocities whose mass matrix is diagonal."""
