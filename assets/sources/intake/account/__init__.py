"""The account of every line, and what the lines say about time covered, gaps and nodes."""
