"""Analyses of motions and parameters: limits, sensitivity, identification, curvature."""
