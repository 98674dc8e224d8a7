"""The schema `estimates`: what is fitted, one asset per table, the maths in `assets.model`.

Each module declares its table as `TABLE`, reads marts through SQL that aggregates first, and writes limits, event
count and exposure beside every value. What cannot be estimated is NULL with a note that says why.
"""
