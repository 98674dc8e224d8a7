"""What must hold at the borders, as Great Expectations suites: rules by the names of columns, and a few by table.

`columns` holds the rules that every table of a schema obeys, and the exceptions. `raw` and `ops` have rules of their
own for what came in, `marts` and `estimates` for what goes out.
Keys, relationships and accepted values inside the warehouse belong to dbt's tests and are not repeated here.
"""
