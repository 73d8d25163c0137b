"""Public functions: arrays in, arrays out, batch axes first."""
