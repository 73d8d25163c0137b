"""Choice of algorithm and engine for a robot, and errors of single rows."""
