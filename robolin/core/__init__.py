"""Data types of all packages, such as arms, quantities with units and results; input checks."""
