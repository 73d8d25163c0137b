"""One thin file per verb."""
