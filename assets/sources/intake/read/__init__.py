"""Turn the bytes of files into numbered lines of clean text."""
