"""One algorithm per file, in the papers' notation, over any scalar."""
