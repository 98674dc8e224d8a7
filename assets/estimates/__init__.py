"""The schema `estimates`: fitted values, one asset per table. The mathematics is in `assets.model`.

Each module declares its table as `TABLE`, reads aggregates of the marts, and writes limits, event count and exposure
with every value. A value that cannot be estimated is NULL, and the note says why.
"""
