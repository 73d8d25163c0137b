"""Readers of URDF text and of objects loaded by urdfpy or urchin."""
