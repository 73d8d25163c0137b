"""Flags in bundles, each of them one object for the verb that takes it."""
