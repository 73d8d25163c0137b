"""Arms with closed loops: solving, rank, assembly and motion, as linear algebra."""
