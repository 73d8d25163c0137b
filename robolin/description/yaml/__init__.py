"""YAML arms and Denavit–Hartenberg tables as descriptions."""
