"""Arms with closed loops: constraint solving, rank, projection and motion by linear algebra."""
