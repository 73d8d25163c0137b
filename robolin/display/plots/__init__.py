"""Pictures of results: what is drawn, with every extreme kept, and how it is drawn."""
