"""What is missing or wrong in the sources and the set-up, and the command that fixes it."""
