"""The columns of every estimate: cluster, confidence level, method, event count, exposure, enough data, note.

`write` of `assets.estimates.table` fills in the method's version and whether enough was seen.
"""

from __future__ import annotations

from assets.estimates.table import ENOUGH_DATA, Column

CLUSTER = Column(
    "cluster_id",
    "varchar",
    "",
    "Cluster: the name of its sources folder.",
    is_required=True,
)
METHOD_VERSION_COLUMN = Column(
    "method_version",
    "varchar",
    "",
    "Version of the methods that produced this row. Numbers of different versions do not compare: to compare over "
    "time, refresh the old logs again.",
    (),
    is_required=True,
)
HAS_ENOUGH_DATA = Column(
    "has_enough_data",
    "boolean",
    "",
    "Whether enough was seen of the cluster to estimate anything: a study period of 7 days, with 3 incidents that "
    "were seen or would be usual (4.2 per 1,000 node-days). False: use no number of this row; the note says why.",
    (f"{ENOUGH_DATA}.has_enough_data",),
    is_required=True,
)
NODES_OF_JOBS = ("gpus_per_node", "gpu_count", "fleet_gpu_count", "fleet_node_count")
"""How the number of nodes of a job is computed."""
NODE_COUNT = Column(
    "node_count",
    "bigint",
    "nodes",
    "gpu_count / gpus_per_node, rounded up. If nodes differ in size, a job with all GPUs of the cluster has all nodes "
    "with GPUs, a smaller job no more and a larger job no fewer.",
    NODES_OF_JOBS,
)
GARWOOD_METHODS = (
    "garwood: exact two-sided limits; garwood_upper_limit: no failure, so there is only a one-sided upper limit of the "
    "rate (a lower limit of the MTTF); no_exposure: nothing can be estimated."
)

WEIGHTED_METHODS = (
    f"{GARWOOD_METHODS} garwood_dispersed: the same limits, wider, because several failures share an incident or some "
    "may be no failure: the count is not whole or scatters more than a Poisson count."
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
    """Declare confidence level, method and its version, event count, exposure, enough data, and the note.

    Parameters
    ----------
    methods
        The meaning of each value of `method`.
    events, exposure
        Descriptions of the count and of the exposure.
    event_inputs, exposure_inputs, note_inputs
        The columns that they are computed from, as `inputs` of a column.
    """
    return (
        Column(
            "confidence_level",
            "double",
            "ratio 0 to 1",
            "Probability that the limits contain the true value.",
            (),
            is_required=True,
        ),
        Column("method", "varchar", "", methods, (), is_required=True),
        METHOD_VERSION_COLUMN,
        HAS_ENOUGH_DATA,
        Column("event_count", "double", "events", f"{events} NULL: unknown.", event_inputs),
        Column("exposure", "double", "see exposure_unit", exposure, exposure_inputs),
        Column("exposure_unit", "varchar", "", "Unit of the exposure.", (), is_required=True),
        Column("note", "varchar", "", "Why a value is missing, or what it leaves out. NULL: no remark.", note_inputs),
    )
