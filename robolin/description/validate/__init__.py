"""What is odd about a robot file, physically."""
