"""Accounting exports: `sacct -P` text."""
