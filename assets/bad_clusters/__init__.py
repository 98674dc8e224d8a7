"""How a cluster whose rows make a step fail is kept from the others: found, left out, and recorded with the reason.

A step is raw, dbt or an estimate. Where it fails with an error that rows can cause, `search` finds the clusters by
repeating that step alone on halves of the clusters, in a scratch database. `failures` holds the list of clusters that a
run leaves out; raw, dbt and the estimates read it. `orchestration/publication/last_good.py` puts the rows of the last
publication in their place. `ends` tells how it ended for each cluster.
"""
