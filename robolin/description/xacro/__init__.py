"""Xacro: macros over URDF, expanded by the `xacro` package in a process of its own."""
