"""Whether a refresh gives back what was planted: a simulated month is refreshed and compared with its truth.

`python -m tests.recovery` prints the comparison; with `--write docs/recovery.md` it writes the page of the docs.
"""
