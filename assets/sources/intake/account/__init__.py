"""The account of every line, and the covered times, gaps and nodes that lines show."""
