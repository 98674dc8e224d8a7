"""How a cluster whose rows make a step fail is kept from the others: found, left out, and recorded with the reason.

Where dbt's build or an estimate fails with an error that rows can cause (`errors`), `search` finds the clusters by
trials. `left_out` has the list of clusters that a run leaves out, which `dbt_project/macros/dialect/source_table.sql`
and `assets.estimates.table.read` obey. Raw tables are settled cluster by cluster (`excluded_clusters`).
`orchestration/publication/last_good.py` puts the rows of the last publication in place. `cluster_outcomes` has the
query that says for each cluster whether it was built, has its last good numbers, or has none.
"""
