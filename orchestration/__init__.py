"""When and where the assets run: Dagster definitions, publication and the command line."""
