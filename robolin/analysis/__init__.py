"""What is worked out from several answers: limits, regressors, sensitivities, curvature, operation counts."""
