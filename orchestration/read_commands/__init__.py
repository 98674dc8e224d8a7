"""The commands that read what is published: query, tables, where, status, plan and lemons."""
