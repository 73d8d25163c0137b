"""Reader of MJCF, MuJoCo's model format; MuJoCo itself compiles the models."""
