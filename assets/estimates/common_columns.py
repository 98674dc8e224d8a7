"""The columns that every estimate has: cluster, confidence level, method, event count, exposure, whether it is enough.

`write` of `assets.estimates.table` fills in the method's version and whether enough was seen.
"""

from __future__ import annotations

from assets.estimates.table import ENOUGH_DATA, Column

CLUSTER = Column(
    "cluster_id",
    "varchar",
    "",
    "Cluster, named as its sources folder.",
    is_required=True,
)
METHOD_VERSION_COLUMN = Column(
    "method_version",
    "varchar",
    "",
    "Edition of the methods that made this row. Numbers of different editions do not compare: to compare over time, "
    "refresh the old logs again.",
    (),
    is_required=True,
)
HAS_ENOUGH_DATA = Column(
    "has_enough_data",
    "boolean",
    "",
    "Enough was seen of the cluster for its estimates to say something: a study period of 7 days in which 3 incidents "
    "were seen, or would be usual (4.2 per 1,000 node-days). False: read no number of this row; the note says why.",
    (f"{ENOUGH_DATA}.has_enough_data",),
    is_required=True,
)
NODES_OF_JOBS = ("gpus_per_node", "gpu_count", "fleet_gpu_count", "fleet_node_count")
"""What the number of nodes of a job rests on."""
NODE_COUNT = Column(
    "node_count",
    "bigint",
    "nodes",
    "gpu_count / gpus_per_node, rounded up. Where nodes differ in size: all nodes with GPUs for all GPUs of the "
    "cluster, no more for fewer, no fewer for more.",
    NODES_OF_JOBS,
)
GARWOOD_METHODS = (
    "garwood: exact two-sided limits; garwood_upper_limit: no failure, so only the upper limit of the rate (the lower "
    "limit of the MTTF) says something, and it is one-sided; no_exposure: nothing can be said."
)

WEIGHTED_METHODS = (
    f"{GARWOOD_METHODS} garwood_dispersed: the same limits for a count that is not whole or scatters more than a "
    "Poisson count, because some failures may be none and several come in one incident."
)


def common_columns(
    methods: str,
    events: str,
    event_inputs: tuple[str, ...],
    exposure: str,
    exposure_inputs: tuple[str, ...],
    *,
    note_inputs: tuple[str, ...] = (),
) -> tuple[Column, ...]:
    """Declare confidence level, method with its version, event count, exposure, whether it is enough, and the note.

    Parameters
    ----------
    methods
        The meaning of each value of `method`.
    events, exposure
        Descriptions of the count and of the exposure.
    event_inputs, exposure_inputs, note_inputs
        What they are computed from, as `inputs` of a column.
    """
    return (
        Column(
            "confidence_level",
            "double",
            "ratio 0 to 1",
            "Probability that the limits cover the truth.",
            (),
            is_required=True,
        ),
        Column("method", "varchar", "", methods, (), is_required=True),
        METHOD_VERSION_COLUMN,
        HAS_ENOUGH_DATA,
        Column("event_count", "double", "events", f"{events} NULL: cannot be known.", event_inputs),
        Column("exposure", "double", "see exposure_unit", exposure, exposure_inputs),
        Column("exposure_unit", "varchar", "", "Unit of the exposure.", (), is_required=True),
        Column(
            "note", "varchar", "", "Why a value is missing, or what it leaves out. NULL: nothing to say.", note_inputs
        ),
    )
