"""Spatial vectors, inertias and sines over any scalar, and what an algorithm may ask of a chain of links."""
