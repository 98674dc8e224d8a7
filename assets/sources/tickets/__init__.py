"""Repair tickets."""
