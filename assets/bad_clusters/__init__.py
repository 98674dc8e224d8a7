"""How a cluster whose rows make a step fail is kept from the others: found, left out, and recorded with the reason.

A step is raw, dbt or an estimate. Where it fails with an error that rows can cause (`errors`), `search` finds the
clusters by repeating that step alone on halves of the clusters, in a scratch database. `failures` holds the list of
clusters that a run leaves out. `orchestration/publication/last_good.py` puts the rows of the last publication in their
place. `ends` has the query that says for each cluster whether it was built, has its last good numbers, or has none.
"""
