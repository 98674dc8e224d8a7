"""Isolate a cluster that makes a step fail: find it, leave it out, and record the reason.

If dbt's build or an estimate fails with an error that rows can cause (`errors`), `search` finds the clusters by
trials. `left_out` holds the list of clusters that a run leaves out, which `dbt_project/macros/dialect/source_table.sql`
and `assets.estimates.table.read` obey. Raw tables are filled cluster by cluster (`excluded_clusters`).
`orchestration/publication/last_good.py` restores the rows of the last publication. `cluster_outcomes` holds the query
that shows for each cluster whether it was built, has its last good numbers, or has none.
"""
