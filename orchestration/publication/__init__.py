"""Publications: their folders, the switch between them, whether they are up to date, and last good rows."""
