"""Turns and poses in space, and configurations whose joints have several freedoms."""
