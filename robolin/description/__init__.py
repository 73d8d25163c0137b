"""Robot files as arms: every problem of the text located, and options applied."""
