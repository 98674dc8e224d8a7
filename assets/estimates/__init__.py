"""The schema `estimates`: fitted values, one asset per table. The mathematics is in `assets.model`.

Each module declares its table as `TABLE`, reads aggregates of the marts, and writes limits, event count and exposure
beside every value. A value that cannot be estimated is NULL, with a note that says why.
"""
