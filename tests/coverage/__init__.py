"""Clusters that nobody here made: an independent generator of logs, and the scores of what is published from them.

The generator shares no code with `assets.simulation` nor with the pipeline, and differs from that simulator on purpose
in how jobs arrive, how nodes fail, how checks report and how a site exports. `sites` says what the clusters are,
`happenings` lives them through, `checks` says what health checks and kernels wrote, `logs` writes the files, `truth`
what was planted; `generate` is the command, `score` holds a refreshed home against the truth.
"""
