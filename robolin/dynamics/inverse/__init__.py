"""Inverse dynamics, its linearizations and its regressors."""
