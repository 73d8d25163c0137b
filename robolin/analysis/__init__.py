"""What is made of several answers: limits, regressors, sensitivities, curvature, counts."""
