"""The one table of everything robolin names, and the units that follow from it."""
