"""What must hold at the borders, as Great Expectations suites: one or two modules per schema, a function per table.

`raw` and `ops` judge what came in, `marts`, `estimates` and `answers` what goes out.
Keys, relationships and accepted values inside the warehouse belong to dbt's tests and are not repeated here.
"""
