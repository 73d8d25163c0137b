"""Self-contained HTML reports about robots and their motion."""
