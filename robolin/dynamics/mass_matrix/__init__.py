"""The mass matrix, its factors, its inverse and its derivatives."""
