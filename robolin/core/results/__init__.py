"""What a verb answers: named arrays with axes, units, contract and origin; or a stream."""
