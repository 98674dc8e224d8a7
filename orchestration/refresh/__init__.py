"""One refresh: lock, repair of damaged files, run, progress, outcome."""
