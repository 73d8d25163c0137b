"""Reader of SDF, the format of Gazebo and Drake: pose graph, includes and nested models."""
