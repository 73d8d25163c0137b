"""Recordings of ROS: bags of both generations, and MCAP files."""
