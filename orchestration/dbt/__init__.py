"""The dbt project as Dagster assets: parsing, building, results, lineage, and which rows can be reused."""
