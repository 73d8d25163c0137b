"""Reader of YAML arms and Denavit–Hartenberg tables."""
