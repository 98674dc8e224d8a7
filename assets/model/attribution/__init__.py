"""Which evidence ended a failed attempt: `posterior` fits the probabilities, the other modules are its parts."""
