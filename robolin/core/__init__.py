"""Data types that other packages use: arms, quantities with units, and results; input checks."""
