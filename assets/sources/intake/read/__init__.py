"""From the bytes of files to numbered lines of clean text."""
