"""Speed, memory and disk as ratios: a refresh against one hand-written DuckDB script on the same files."""
