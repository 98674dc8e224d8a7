"""One refresh: the lock, what is healed before it, the run, its progress and its outcome."""
