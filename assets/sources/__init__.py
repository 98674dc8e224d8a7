"""From raw text to typed rows: a package or module per format, and what all formats share.

`reader` is the contract that every format fulfils; `intake` finds the files, reads them in batches and accounts for
every line; `text` reads what texts of several formats hold, such as times and node lists. Volume is handled by SQL text
for DuckDB. Nothing here knows Dagster or dbt.
"""
