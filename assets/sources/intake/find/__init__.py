"""Which files exist, what is known of them, and which are to be read."""
