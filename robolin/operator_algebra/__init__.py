"""Spatial operators of the papers: symbolic formulas, evaluated by O(n) sweeps."""
