"""Which evidence explains a failed attempt: `posterior` fits the probabilities from the parts in the other modules."""
