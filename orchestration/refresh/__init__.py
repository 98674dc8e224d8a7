"""`faultline refresh`: `run` has its steps in order, and `forgetting` deletes rows that were read."""
