"""Read trajectories: columns of a file as joint states in the robot's order, in chunks."""
