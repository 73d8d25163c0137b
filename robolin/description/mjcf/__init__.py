"""MJCF: MuJoCo's models, compiled by MuJoCo itself."""
