"""From the sources folder to raw tables: `find` the files, `read` their lines, `account` for every line.

`loading` reads new and changed files in batches; `across_files` settles what depends on all files.
"""
