"""Robot files as arms: text to a description with every problem located, a description to an arm."""
