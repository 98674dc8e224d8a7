"""What stands in texts, whatever their format: times, node lists, delimited fields, secrets, names and patterns."""
