"""Suites on schema ops: every line of every file is accounted for."""
