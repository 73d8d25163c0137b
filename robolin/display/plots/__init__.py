"""Plots of results: selection of the data, with all extremes kept, and drawing."""
