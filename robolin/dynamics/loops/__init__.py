"""Loop-closure constraints: violations, constraint forces and their derivatives."""
