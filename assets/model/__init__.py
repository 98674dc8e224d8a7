"""The statistics: functions of numbers that return frozen results, most of them with the limits `low` and `high`.

No function reads a file, the clock or a database. Random generators are parameters.

Rates are failures per node-day; a table multiplies by 1,000. Durations carry their unit in the parameter's name.
`nan` means that the data cannot say, `inf` as an upper limit that there is no upper limit.
"""
