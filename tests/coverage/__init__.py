"""An independent generator of logs, and scores of the publications from these logs.

The generator shares no code with `assets.simulation` or with the pipeline, and differs from that simulator on purpose
in how jobs arrive, how nodes fail, how checks report and how a site exports. `sites` describes the clusters,
`happenings` simulates them, `checks` returns the results of health checks and kernels, `logs` writes the files, and
`truth` what was planted. `claims` and `end_to_end` compare published numbers with the truth.
"""
