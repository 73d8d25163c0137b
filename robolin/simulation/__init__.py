"""Motion over time: an arm set going, driven by torques or by a controller."""
