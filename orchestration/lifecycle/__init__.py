"""The session of a run, which locks and repairs the home, and the assets that pull and publish."""
