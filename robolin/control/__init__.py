"""Linear control: state-space models, poles, gains, and simulation of the closed loop."""
