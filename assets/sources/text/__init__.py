"""Parts of texts of any format: times, node lists, delimited fields, secrets, names and patterns."""
