"""What the reading commands answer from the published file."""
