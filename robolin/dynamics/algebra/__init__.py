"""Spatial vectors, inertias and sines over any scalar, and the chain an algorithm runs on."""
