"""The dbt project as Dagster assets: parsing, building, results and lineage."""
