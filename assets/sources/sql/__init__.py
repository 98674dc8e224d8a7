"""SQL that several formats need: times, delimited text, and Python rows as tables."""
