"""One short module per command."""
