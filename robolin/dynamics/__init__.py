"""One algorithm per file, in the notation of the papers, for any scalar type."""
