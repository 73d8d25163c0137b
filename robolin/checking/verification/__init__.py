"""Whether robolin is right about an arm: identities, derivatives, 50 digits, peers."""
