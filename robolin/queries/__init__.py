"""Query layer behind every command: a question and states in, a result or a result stream out."""
