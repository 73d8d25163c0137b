"""Selection of algorithm and engine for a robot, and error messages for rows that fail."""
