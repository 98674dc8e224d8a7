"""Suites on schema marts: the facts agree with what came in, and the figures with the facts."""
