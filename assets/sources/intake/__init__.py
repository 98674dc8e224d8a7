"""From the sources folder to batches of lines: which files there are, what is read of them, what came of each line."""
