"""The command line: flags become a question, the answer becomes text or a file."""
