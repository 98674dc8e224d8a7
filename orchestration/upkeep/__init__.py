"""Upkeep of a home: its lock, the repair of damaged files, and permissions."""
