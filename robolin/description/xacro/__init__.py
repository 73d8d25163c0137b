"""Reader of xacro files, expanded to URDF by the `xacro` package in a separate process."""
