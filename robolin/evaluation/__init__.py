"""Choice of algorithm and engine for a robot, and error messages for single rows."""
