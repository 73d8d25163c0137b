"""Verification of results: identities, derivatives, 50-digit arithmetic, reference programs."""
