"""Why an attempt ended and what a node went through, in words that the report and `faultline explain` share.

Rows of the report's queries go in, pairs of a heading and a text come out.
"""
