"""The ledger written down in the dialects that sites have: one module per kind of log.

Writers decide only how things look. What happened is in the ledger, what was broken in the truth.
"""
