"""Data that every other package uses: the arm, quantities and units, results, and their checks."""
