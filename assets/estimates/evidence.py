"""The columns that every estimate has: cluster, confidence level, method, event count, exposure, whether it is enough.

`write` of `assets.estimates.table` fills in the method's version and whether enough was seen.
"""

from __future__ import annotations

from assets.estimates.table import Column

CLUSTER = Column(
    "cluster_id",
    "varchar",
    "",
    "Cluster, named as its sources folder.",
    ("marts.dim_clusters.cluster_id",),
    is_required=True,
)
STUDY_GAPS = ("marts.dim_study_gaps.from_at", "marts.dim_study_gaps.to_at")
"""What accounting lacks of the study period."""
METHOD_VERSION_COLUMN = Column(
    "method_version",
    "varchar",
    "",
    "Edition of the methods that made this row. Numbers of different editions do not compare: to compare over time, "
    "refresh the old logs again.",
    is_required=True,
)
SIGNATURES = (
    "marts.agg_check_introductions.failure_category",
    "marts.fct_health_events.source",
    "staging.stg_config__rules.failure_category",
)
"""Which kind of log can show which cause."""
HAS_ENOUGH_DATA = Column(
    "has_enough_data",
    "boolean",
    "",
    "Enough was seen of the cluster for its estimates to say something: a study period of 7 days in which 3 incidents "
    "were seen, or would be usual (4.2 per 1,000 node-days). False: read no number of this row; the note says why.",
    (
        "marts.dim_clusters.study_from_at",
        "marts.dim_clusters.study_to_at",
        "marts.fct_attempt_exposures.failure_probability",
        "marts.fct_attempt_exposures.incident_id",
        "marts.fct_attempt_exposures.node_days",
    ),
    is_required=True,
)
REFERENCE_RATE = (
    "estimates.est_failure_rates.failure_count",
    "estimates.est_failure_rates.failure_variance",
    "estimates.est_failure_rates.node_days",
    "estimates.est_failure_rates.population",
    "estimates.est_failure_rates.is_reference",
)
REFERENCE_MONTHS = (
    "estimates.est_forecast_scores.month_failure_count",
    "estimates.est_forecast_scores.month_node_days",
)
"""The months of the reference rate, which tell how far the rate of the days to come may lie from it."""
NODES_OF_JOBS = tuple(f"marts.dim_clusters.{column}" for column in ("gpus_per_node", "gpu_count", "gpu_node_count"))
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


def evidence(
    methods: str,
    events: str,
    event_upstream: tuple[str, ...],
    exposure: str,
    exposure_upstream: tuple[str, ...],
    *,
    note_upstream: tuple[str, ...] = (),
) -> tuple[Column, ...]:
    """Declare confidence level, method with its version, event count, exposure, whether it is enough, and the note.

    Parameters
    ----------
    methods
        The meaning of each value of `method`.
    events, exposure
        Descriptions of the count and of the exposure.
    event_upstream, exposure_upstream, note_upstream
        Where they come from, as `schema.table.column`.
    """
    return (
        Column(
            "confidence_level",
            "double",
            "ratio 0 to 1",
            "Probability that the limits cover the truth.",
            is_required=True,
        ),
        Column("method", "varchar", "", methods, is_required=True),
        METHOD_VERSION_COLUMN,
        HAS_ENOUGH_DATA,
        Column("event_count", "double", "events", f"{events} NULL: cannot be known.", event_upstream),
        Column("exposure", "double", "see exposure_unit", exposure, exposure_upstream),
        Column("exposure_unit", "varchar", "", "Unit of the exposure.", is_required=True),
        Column(
            "note", "varchar", "", "Why a value is missing, or what it leaves out. NULL: nothing to say.", note_upstream
        ),
    )
