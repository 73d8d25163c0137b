"""The library behind every verb: a question and states in, a result or a stream of it out."""
