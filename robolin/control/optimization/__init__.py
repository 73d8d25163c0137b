"""Optimal motions: inverse kinematics, trajectory optimization, receding-horizon control."""
