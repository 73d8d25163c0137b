"""Objects in stores, `s3://bucket/key` and the like: found, read in pieces and put whole."""
