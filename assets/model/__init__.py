"""The statistics: functions of numbers that return frozen results, most of them with the limits `low` and `high`.

No function reads a file, the clock or a database. Random generators are parameters.

Rates are failures per node-day; a table multiplies by 1,000. The name of a duration has its unit. `nan` means that the
data cannot show the value, and `inf` that there is no upper limit.
"""
