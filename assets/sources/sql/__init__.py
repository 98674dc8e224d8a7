"""SQL that several formats need: times, delimited text, repeated rows, Python rows as tables."""
