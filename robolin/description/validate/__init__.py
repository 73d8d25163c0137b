"""Physical plausibility checks of a robot file."""
