"""Writes the ledger as logs in the formats of real sites: one module per kind of log.

Writers decide only how things look. The ledger says what happened, and the truth says what was broken.
"""
