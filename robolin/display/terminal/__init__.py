"""Tables, numbers and progress for people."""
