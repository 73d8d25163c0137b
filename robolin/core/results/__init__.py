"""Results of commands: named arrays with axes, units, contract and provenance; or a stream."""
