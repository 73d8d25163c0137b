"""Construction of an arm from a description and model options."""
