"""Output for people: terminal tables, plots, HTML reports and notebooks."""
