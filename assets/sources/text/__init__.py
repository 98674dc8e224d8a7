"""Parts of text in any format: times, node lists, delimited fields, secrets, names and patterns."""
