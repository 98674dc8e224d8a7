"""Rates by cause, worked out by hand, and which causes have an upper limit though they were never seen."""

import numpy as np
import pandas as pd
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
    ('checked', true), ('logged', true), ('told', true), ('bare', true), ('mixed', true), ('idle', true),
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
    ('logged', 'a', 100, 0, null, null, null), ('told', 'a', 100, 0, null, null, null),
    ('bare', 'a', null, 1.0, 'pcie', null, 'n1'), ('mixed', 'a', null, 1.0, 'pcie', null, 'n1'),
    ('mixed', 'b', 1000, 1.0, 'pcie', null, 'n1')
) as attempts;
insert into marts.dim_nodes by name
from (values ('checked', 'n1', null), ('logged', 'n1', null), ('logged', 'a1', 'amd'), ('told', 'n1', null),
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
    ('logged', 'a1', 'kernel', '2026-03-01'), ('told', 'n1', 'events', '2026-03-01'),
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
def rates(found):
    """The rates of four clusters, by cluster and cause."""
    return {(row.cluster_id, row.failure_category): row for row in found if row.counted_as == "attempts"}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """All rows of all clusters."""
    with filled(tmp_path_factory.mktemp("causes"), MARTS).writing() as con:
        return list(with_rates(read(con, "inp_causes_counted")).itertuples())


@pytest.fixture
def house(tmp_path):
    """The clusters to change."""
    return filled(tmp_path, MARTS)


def test_failures_count_with_their_probability_and_limits_know_the_incident(rates):
    """Two attempts in one incident and half a failure: k = 2.5, V = 4 + 0.75, and 0.0625 of the draws."""
    phi = 4.8125 / 2.5
    row = rates["checked", "pcie"]
    assert (row.failure_count, row.incident_count, row.gpu_hours) == (2.5, 1.5, 3000.0)
    assert row.dispersion == pytest.approx(phi)
    assert row.failures_per_gpu_hour == pytest.approx(2.5 / 3000)
    assert row.failures_per_gpu_hour_low == pytest.approx(stats.gamma.ppf(0.05, 2.5 / phi) * phi / 3000)
    assert row.failures_per_gpu_hour_high == pytest.approx(stats.gamma.ppf(0.95, 2.5 / phi + 1) * phi / 3000)
    assert row.method == "garwood_dispersed"
    assert pd.isna(row.note)


def test_a_cause_whose_check_ran_and_never_saw_it_has_an_upper_limit(rates):
    row = rates["checked", "ib_link"]
    assert (row.failure_count, row.failures_per_gpu_hour_low) == (0.0, 0.0)
    assert np.isnan(row.failures_per_gpu_hour)
    assert row.failures_per_gpu_hour_high == pytest.approx(-np.log(0.05) / 3000)
    assert (row.method, row.note) == ("garwood_upper_limit", "never seen: only the upper limit is known")


def test_only_causes_that_a_log_could_have_shown_are_observable(rates):
    """Elsewhere there is neither a count nor a limit, and the note says why."""
    of = {}
    for (cluster_id, cause), row in rates.items():
        if not pd.isna(row.failure_count):
            of.setdefault(cluster_id, set()).add(cause)
    assert of == {
        "checked": {"pcie", "ib_link", "node_fail_unattributed"},
        "logged": {"ib_link", "gpu_memory", "gpu_nvlink", "node_fail_unattributed"},
        "told": {"nccl_timeout", "pcie", "node_fail_unattributed"},
        "bare": {"nccl_timeout", "pcie", "node_fail_unattributed", "unattributed"},
        "mixed": {"nccl_timeout", "pcie", "node_fail_unattributed"},
        "idle": {"node_fail_unattributed"},
    }
    blind = rates["checked", "gpu_memory"]
    assert np.isnan(
        [blind.failures_per_gpu_hour, blind.failures_per_gpu_hour_low, blind.failures_per_gpu_hour_high]
    ).all()
    assert (blind.gpu_hours, blind.method) == (0.0, "no_exposure")
    assert blind.note == "not observable: no kernel log was understood"
    assert rates["idle", "pcie"].note == "not observable: no log of node events was understood"
    assert rates["checked", "gpu_nvlink"].note == "not observable: no rule and no check shows it on these nodes"


def test_gpu_hours_are_those_of_nodes_on_which_the_log_has_a_signature(rates):
    """Xids are NVIDIA's, 75 of 100 GPU-hours; one rule is AMD's, the other of all nodes."""
    assert [rates["logged", cause].gpu_hours for cause in ("gpu_memory", "gpu_nvlink", "ib_link")] == [
        75.0,
        25.0,
        100.0,
    ]
    row = rates["logged", "gpu_memory"]
    assert row.seen_ratio == 0.75
    assert row.failures_per_gpu_hour_high == pytest.approx(-np.log(0.05) / 75)
    assert row.note == "never seen: only the upper limit is known; seen in 75% of the GPU-hours"


def test_a_failure_on_a_day_without_sight_is_left_out(house):
    """Two of three failures are on the second day, of which no log of the node was understood."""
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


def test_a_failure_of_unknown_gpu_hours_counts_where_none_are_known(rates):
    """It has no rate: the hours are unknown, not zero."""
    row = rates["bare", "pcie"]
    assert (row.failure_count, row.incident_count, row.method) == (1.0, 1.0, "no_exposure")
    assert np.isnan([row.gpu_hours, row.exposure, row.failures_per_gpu_hour_high]).all()
    assert row.note == "no GPU-hours are known"


def test_a_failure_of_unknown_gpu_hours_raises_no_rate_of_others(rates):
    row = rates["mixed", "pcie"]
    assert (row.failure_count, row.gpu_hours) == (1.0, 1000.0)
    assert row.note == "attempts left out, GPU-hours unknown: 1"


def test_hours_are_zero_where_nothing_ran(rates):
    row = rates["idle", "node_fail_unattributed"]
    assert (row.failure_count, row.gpu_hours, row.method) == (0.0, 0.0, "no_exposure")


def test_by_the_papers_rule_each_failure_is_certain_and_counts_alone(found):
    """Three failures over 2,000 GPU-hours of ended attempts, the incident's two among them: Garwood's own limits."""
    paper = {(row.cluster_id, row.failure_category): row for row in found if row.counted_as == "attempts_paper"}
    row = paper["checked", "pcie"]
    assert (row.failure_count, row.incident_count, row.gpu_hours, row.dispersion) == (3.0, 2.0, 2000.0, 1.0)
    assert row.failures_per_gpu_hour == pytest.approx(3 / 2000)
    assert row.failures_per_gpu_hour_low == pytest.approx(stats.chi2.ppf(0.05, 6) / 2 / 2000)
    assert row.failures_per_gpu_hour_high == pytest.approx(stats.chi2.ppf(0.95, 8) / 2 / 2000)
    assert row.method == "garwood"
    unseen = paper["checked", "ib_link"]
    assert (unseen.failure_count, unseen.method) == (0.0, "garwood_upper_limit")
    assert unseen.failures_per_gpu_hour_high == pytest.approx(-np.log(0.05) / 2000)
    unknown = paper["bare", "unattributed"]
    assert (unknown.failure_count, unknown.method) == (1.0, "no_exposure")
    assert np.isnan(unknown.gpu_hours)
