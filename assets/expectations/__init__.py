"""What must hold at the borders, as Great Expectations suites; the path of a file is the table it judges.

`raw` and `ops` judge what came in, `marts` and `estimates` what goes out. Each file has one function, `expectations()`.
Keys, relationships and accepted values inside the warehouse belong to dbt's tests and are not repeated here.
"""
