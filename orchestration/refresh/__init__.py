"""A refresh, whoever starts it: `run` has its life in order. `forgetting` deletes what was read."""
