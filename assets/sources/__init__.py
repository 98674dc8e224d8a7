"""From raw text to typed rows: a package or module per format, and what all formats share.

`reader` is the contract that every format fulfils; `intake` finds the files, reads them in batches and accounts for
every line; `sql` has the SQL that several formats need. Volume is handled by SQL text for DuckDB. Nothing here knows
Dagster or dbt.
"""
