"""Speed as a ratio: a refresh against one hand-written DuckDB script that does the same work on the same files."""
