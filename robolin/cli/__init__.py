"""Command line: parse flags into a request, and write its result as text or a file."""
