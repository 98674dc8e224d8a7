"""What a run holds of a home from its first writing to its end, and the assets that pull and publish."""
