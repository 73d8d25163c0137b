"""Terminal output: tables, numbers and progress."""
