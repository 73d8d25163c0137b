"""Kinematics of frames and operational-space dynamics."""
