"""Turn raw text into typed rows: a package or module per format, and code that all formats share.

`reader` is the contract of every format; `intake` finds the files, reads them in batches and accounts for every line;
`text` reads parts that several formats have, such as times and node lists. SQL for DuckDB handles the volume. Nothing
here knows Dagster or dbt.
"""
