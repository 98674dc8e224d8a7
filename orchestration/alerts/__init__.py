"""Alerts: what is told, to whom, and once."""
