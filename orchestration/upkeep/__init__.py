"""What keeps a home sound: its lock, the repair of damaged files, and who may read it."""
