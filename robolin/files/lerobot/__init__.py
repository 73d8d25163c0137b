"""Datasets of LeRobot: Parquet files beside a page that describes them."""
