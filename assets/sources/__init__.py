"""From raw text to typed rows: one module per format, and the core that feeds them.

`reading` is the agreement between the two. Volume is handled by SQL text for DuckDB; nothing here knows Dagster or dbt.
"""
