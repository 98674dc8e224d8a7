"""Great Expectations suites as Dagster checks, and their verdicts in ops.checks."""
