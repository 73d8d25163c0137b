"""A description and a choice of options become an arm."""
