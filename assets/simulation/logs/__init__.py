"""The writers of a simulated site's logs, in the dialects of real sites."""
