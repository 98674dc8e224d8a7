"""Rates by cause, computed by hand, and which causes have an upper limit though they were never seen."""

import numpy as np
import pytest
from scipy import stats

from assets.estimates.est_cause_rates import with_rates
from assets.estimates.table import read
from tests.warehouses import filled

MARTS = """
insert into intermediate.int_failure_draws by name
from (values ('checked', 'c', 1, 0.25), ('checked', 'c', 2, 0.75)) as draws (cluster_id, attempt_id, draw, probability);
insert into seeds.kernel_rules by name
from (values ('ib_link', 'none', null), ('gpu_nvlink', 'none', 'amd'), ('none', 'none', null))
    as rules (failure_category, co_category, vendor);
insert into seeds.xids by name
from (values ('gpu_memory', 'none'), ('user_code', 'none')) as codes (failure_category, co_category);
insert into seeds.node_reason_rules by name from (values ('nccl_timeout'), ('pcie')) as rules (failure_category);
insert into marts.dim_clusters by name
from (values
    ('checked', true), ('logged', true), ('noted', true), ('bare', true), ('mixed', true), ('idle', true),
    ('no jobs', false)
) as clusters (cluster_id, has_accounting);
insert into marts.dim_failure_categories by name
from (values
    ('pcie', true, true), ('ib_link', true, true), ('gpu_memory', true, true), ('gpu_nvlink', true, true),
    ('nccl_timeout', true, true), ('unattributed', true, true), ('node_fail_unattributed', true, true),
    ('oom', true, false), ('planned', false, false)
) as categories (failure_category, is_cause, is_infrastructure);
insert into marts.agg_check_introductions by name
from (values ('checked', 'check pcie', 'pcie'), ('checked', 'check ib', 'ib_link'), ('checked', 'check oom', 'oom'))
    as checks (cluster_id, check_name, failure_category);
insert into marts.fct_attempt_exposures (
    cluster_id, attempt_id, gpu_hours, failure_probability, failure_category, incident_id, culprit_node_id, failed_at,
    seen_from_at, seen_to_at
)
select *, timestamp '2026-03-01 20:00', timestamp '2026-03-01 00:00', timestamp '2026-03-02 00:00'
from (values
    ('checked', 'a', 1000, 1.0, 'pcie', 'i1', 'n1'), ('checked', 'b', 1000, 1.0, 'pcie', 'i1', 'n1'),
    ('checked', 'c', 500, 0.5, 'pcie', null, 'n1'), ('checked', 'd', 500, 0, null, null, null),
    ('logged', 'a', 100, 0, null, null, null), ('noted', 'a', 100, 0, null, null, null),
    ('bare', 'a', null, 1.0, 'pcie', null, 'n1'), ('mixed', 'a', null, 1.0, 'pcie', null, 'n1'),
    ('mixed', 'b', 1000, 1.0, 'pcie', null, 'n1')
) as attempts;
insert into marts.dim_nodes by name
from (values ('checked', 'n1', null), ('logged', 'n1', null), ('logged', 'a1', 'amd'), ('noted', 'n1', null),
    ('bare', 'n1', null), ('mixed', 'n1', null))
    as nodes (cluster_id, node_id, gpu_vendor);
insert into marts.fct_node_days by name
select cluster_id, node_id, date '2026-03-01' as day_date, 0 as allocated_gpu_hours, 24 as in_use_hours
from marts.dim_nodes where cluster_id <> 'logged'
union all
from (values
    ('logged', 'n1', date '2026-03-01', 75, 24), ('logged', 'a1', date '2026-03-01', 25, 24)
) as days;
insert into ops.sight values
    ('checked', 'n1', 'health', '2026-03-01'), ('logged', 'n1', 'kernel', '2026-03-01'),
    ('logged', 'a1', 'kernel', '2026-03-01'), ('noted', 'n1', 'events', '2026-03-01'),
    ('bare', 'n1', 'events', '2026-03-01'), ('mixed', 'n1', 'slurmctld', '2026-03-01');
insert into marts.fct_failures by name
from (values
    ('checked', 'a', 'pcie', 'i1'), ('checked', 'b', 'pcie', 'i1'), ('checked', 'c', 'pcie', null),
    ('bare', 'a', 'unattributed', null)
) as failures (cluster_id, attempt_id, failure_category, incident_id);
insert into marts.fct_attempts by name
from (values
    ('checked', 'a', true, 8, 450000), ('checked', 'b', true, 8, 450000), ('checked', 'r', false, 8, 3600),
    ('bare', 'a', true, null, 3600)
) as attempts (cluster_id, attempt_id, is_terminal, gpu_count, runtime_seconds);
"""


@pytest.fixture(scope="module")
def rates(tmp_path_factory):
    """Return the rates of all clusters, by cluster, cause and way of counting."""
    with filled(tmp_path_factory.mktemp("causes"), MARTS).writing() as con:
        found = with_rates(read(con, "inp_causes_counted"))
    rows = found.astype(object).where(found.notna(), None).to_dict("records")
    return {(row["cluster_id"], row["failure_category"], row["counted_as"]): row for row in rows}


@pytest.fixture
def house(tmp_path):
    """The clusters to change."""
    return filled(tmp_path, MARTS)


RATE = "failures_per_gpu_hour"
LOW, HIGH, COUNT, HOURS = f"{RATE}_low", f"{RATE}_high", "failure_count", "gpu_hours"
PHI = 4.8125 / 2.5
UNKNOWN = {RATE: None, LOW: None, HIGH: None}
ROWS = [
    # Two attempts in one incident and half a failure: k = 2.5, V = 4 + 0.75, and 0.0625 of the draws.
    ("checked", "pcie", "attempts", {
        COUNT: 2.5, "incident_count": 1.5, HOURS: 3000.0, "dispersion": PHI, RATE: 2.5 / 3000,
        LOW: stats.gamma.ppf(0.05, 2.5 / PHI) * PHI / 3000, HIGH: stats.gamma.ppf(0.95, 2.5 / PHI + 1) * PHI / 3000,
        "method": "garwood_dispersed", "note": None}),
    # A cause has an upper limit if its check ran and never saw it; if no log shows it, neither count nor limit.
    ("checked", "ib_link", "attempts", {
        COUNT: 0.0, RATE: None, LOW: 0.0, HIGH: -np.log(0.05) / 3000, "method": "garwood_upper_limit"}),
    ("checked", "gpu_memory", "attempts", UNKNOWN | {
        HOURS: 0.0, "method": "no_exposure", "note": "not observable: no kernel log was understood"}),
    ("idle", "pcie", "attempts", {"note": "not observable: no log of node events was understood"}),
    ("checked", "gpu_nvlink", "attempts", {"note": "not observable: no rule and no check shows it on these nodes"}),
    # Xids are NVIDIA's, 75 of 100 GPU-hours; one rule is AMD's, the other of all nodes.
    ("logged", "gpu_memory", "attempts", {HOURS: 75.0, "seen_ratio": 0.75, HIGH: -np.log(0.05) / 75}),
    ("logged", "gpu_nvlink", "attempts", {HOURS: 25.0}),
    ("logged", "ib_link", "attempts", {HOURS: 100.0}),
    # A failure of unknown GPU-hours counts if none are known, and raises no rate of others.
    ("bare", "pcie", "attempts", UNKNOWN | {
        COUNT: 1.0, "incident_count": 1.0, HOURS: None, "method": "no_exposure", "note": "no GPU-hours are known"}),
    ("mixed", "pcie", "attempts", {COUNT: 1.0, HOURS: 1000.0, "note": "attempts left out, GPU-hours unknown: 1"}),
    ("idle", "node_fail_unattributed", "attempts", {COUNT: 0.0, HOURS: 0.0, "method": "no_exposure"}),
    # By the paper's rule: three failures over 2,000 GPU-hours of ended attempts, with Garwood's own limits.
    ("checked", "pcie", "attempts_paper", {
        COUNT: 3.0, "incident_count": 2.0, HOURS: 2000.0, "dispersion": 1.0, RATE: 3 / 2000,
        LOW: stats.chi2.ppf(0.05, 6) / 2 / 2000, HIGH: stats.chi2.ppf(0.95, 8) / 2 / 2000, "method": "garwood"}),
    ("checked", "ib_link", "attempts_paper", {
        COUNT: 0.0, HIGH: -np.log(0.05) / 2000, "method": "garwood_upper_limit"}),
    ("bare", "unattributed", "attempts_paper", {COUNT: 1.0, HOURS: None, "method": "no_exposure"}),
]  # fmt: skip
"""Cluster, cause, way of counting, and the values of some columns."""


@pytest.mark.parametrize(("cluster_id", "cause", "counted_as", "expected"), ROWS)
def test_a_rate_is_as_worked_out_by_hand(rates, cluster_id, cause, counted_as, expected):
    row = rates[cluster_id, cause, counted_as]
    for name, value in expected.items():
        assert row[name] == (pytest.approx(value) if isinstance(value, float) else value), name


def test_only_causes_that_a_log_could_have_shown_are_observable(rates):
    of = {}
    for (cluster_id, cause, counted_as), row in rates.items():
        if counted_as == "attempts" and row["failure_count"] is not None:
            of.setdefault(cluster_id, set()).add(cause)
    assert of == {
        "checked": {"pcie", "ib_link", "node_fail_unattributed"},
        "logged": {"ib_link", "gpu_memory", "gpu_nvlink", "node_fail_unattributed"},
        "noted": {"nccl_timeout", "pcie", "node_fail_unattributed"},
        "bare": {"nccl_timeout", "pcie", "node_fail_unattributed", "unattributed"},
        "mixed": {"nccl_timeout", "pcie", "node_fail_unattributed"},
        "idle": {"node_fail_unattributed"},
    }


def test_a_failure_on_a_day_without_sight_is_left_out(house):
    """Two of three failures are on the second day, when no log of the node was understood."""
    with house.writing() as con:
        con.execute(
            """
            update marts.fct_attempt_exposures
            set
                failed_at = '2026-03-02 20:00', seen_from_at = '2026-03-02', seen_to_at = '2026-03-03',
                incident_id = attempt_id
            where cluster_id = 'checked' and attempt_id in ('a', 'b');
            insert into marts.fct_node_days by name
            select * replace (date '2026-03-02' as day_date) from marts.fct_node_days where cluster_id = 'checked';
            """
        )
        found = with_rates(read(con, "inp_causes_counted"))
    (row,) = found[(found.cluster_id == "checked") & (found.failure_category == "pcie")].head(1).itertuples()
    assert (row.failure_count, row.gpu_hours) == (0.5, 1000.0)
    assert row.note == "seen in 33.3% of the GPU-hours; failures left out, no log of their nodes: 2"
