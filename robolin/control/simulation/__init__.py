"""Motions under torques and controllers, with their energies."""
