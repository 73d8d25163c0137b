"""Forward dynamics and its linearizations."""
