"""Identification of a robot's parameters from recordings of motions and torques."""
