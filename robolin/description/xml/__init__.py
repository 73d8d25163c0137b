"""XML as a tree that knows its lines."""
