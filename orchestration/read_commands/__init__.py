"""The commands that read the publication, such as query, tables, explain, status, plan, lemons and export."""
