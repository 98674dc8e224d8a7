"""Which nodes fail too often, and how certain that is.

`two_groups` fits normal nodes and lemons, `culprits` infers which node caused a failure, `node_rates` judges each node,
`gate` tests whether a fleet can be searched, and `verdicts` decides. `signals` has the paper's signs of a lemon, and
`evaluation` judges a list by the next window.
"""
