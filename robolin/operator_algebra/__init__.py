"""The papers' spatial operators as symbolic formulas that are applied by O(n) sweeps."""
