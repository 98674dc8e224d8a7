"""Suites on schema estimates: every published number is possible and inside its own interval."""
