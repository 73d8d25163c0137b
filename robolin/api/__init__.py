"""Public functions, which take and return arrays; the leading axes of an array are the batch."""
