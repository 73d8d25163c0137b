"""Linear models, poles, gains, simulation, trajectory optimization and inverse kinematics."""
