"""The one place that knows robolin's version."""

__version__ = "0.1.0"
