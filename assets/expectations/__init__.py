"""The rules at the borders, as Great Expectations suites: rules by column name, and a few by table.

`columns` holds the rules for every table of a schema, and the exceptions. `raw` and `ops` hold further rules for what
comes in, `marts` and `estimates` for what goes out.
Keys, relationships and accepted values inside the warehouse belong to dbt's tests and are not repeated here.
"""
