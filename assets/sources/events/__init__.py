"""Intervals in which nodes were out of service."""
