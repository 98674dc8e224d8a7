"""From the sources folder to batches of lines: finding files, reading them, accounting for every line."""
