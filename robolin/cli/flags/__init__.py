"""Groups of flags; each group is passed to a command as one object."""
