"""Suites on schema raw: the typed rows of the logs are believable."""
