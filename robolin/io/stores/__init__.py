"""Object stores (`s3://bucket/key` and others): look up, read in ranges and write objects."""
