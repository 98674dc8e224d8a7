"""One scorer and one table of claims for everything whose truth is known.

A truth is a schema `truth` in a DuckDB connection that `scorer.opened` gives, with at least the tables `failures` and
`broken_beside`. Simulated months (`tests/recovery`), clusters of an independent generator (`tests/coverage`), the
genuine capture and a real Slurm (`tests/slurm`) supply it. `failures.sql` and `simulated.sql` join what is published to
it; a claim counts rows of these relations.
"""
