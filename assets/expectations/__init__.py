"""What must hold at the borders, as Great Expectations suites: a module per schema, a function per table.

`raw` and `ops` judge what came in, `marts` and `estimates` what goes out.
Keys, relationships and accepted values inside the warehouse belong to dbt's tests and are not repeated here.
"""
