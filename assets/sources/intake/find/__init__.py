"""Which files there are, what is known of them, and which of them are to be read."""
