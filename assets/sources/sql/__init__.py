"""SQL that several formats need: times, delimited text, repeated rows, declared temp tables."""
