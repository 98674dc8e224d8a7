"""The statistics: numbers in, frozen results with `low` and `high` out. No files, clock, database or hidden randomness.

Rates are failures per node-day; a table multiplies by 1,000. Durations carry their unit in the parameter's name.
`nan` means that the data cannot say, `inf` as an upper limit that there is no upper limit.
"""
