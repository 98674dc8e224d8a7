"""Whether the estimators keep their word: coverage and error by simulation, and figures that others published.

`python -m tests.proof` prints the comparison; with `--write docs/estimators.md` it writes the page of the docs.
"""
