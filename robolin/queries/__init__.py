"""Query layer of all commands: takes a question and states, returns a result or result stream."""
