"""The papers' operators as formulas that run as sweeps."""
