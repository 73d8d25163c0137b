"""The version of robolin."""

__version__ = "0.1.0"
