"""What is turned off: a text of one file, what stands in its place, and the tests of which one must fail then.

Each text occurs once in its file, which a quick test asks for: who rewrites a correction rewrites its mutation.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """One correction turned off."""

    what: str
    path: str
    old: str
    new: str
    tests: str


RETURNS = "tests/minimal/test_returns_to_service.py"
RECORDS = "tests/minimal/test_records.py"
ATTRIBUTION = "tests/minimal/test_attribution.py"
TABLES = "tests/coverage/test_tables.py"
CHANGES = "dbt_project/models/intermediate/outages/int_node_service_changes.sql"
JUDGED = "dbt_project/models/intermediate/failures/int_failures_judged.sql"
EXPOSURES = "dbt_project/models/marts/fct_attempt_exposures.sql"

MUTATIONS = (
    Mutation(
        "a node whose state is set to ALLOCATED or MIXED is back",
        CHANGES,
        "state in ('IDLE', 'RESUME', 'UNDRAIN', 'ALLOCATED', 'MIXED', 'PLANNED', 'RESERVED')",
        "state in ('IDLE', 'RESUME', 'UNDRAIN')",
        RETURNS,
    ),
    Mutation(
        "a node that registers as INVAL is out",
        CHANGES,
        "kind in ('reason_set', 'drained_by_slurm', 'prolog_failure', 'epilog_failure', 'node_invalid')",
        "kind in ('reason_set', 'drained_by_slurm', 'prolog_failure', 'epilog_failure')",
        RETURNS,
    ),
    Mutation(
        "GPUs without a count are unknown, not none",
        "assets/sources/sacct/values.py",
        'gpu_count_source="no_count" if is_uncounted else "none"',
        'gpu_count_source="none"',
        "assets/sources/sacct/values.py",
    ),
    Mutation(
        "a job that was cancelled while it waited never started",
        "assets/sources/sacct/typed_records.py",
        "when has_node_column and lists.has_names is not true and Start_utc = End_utc then null",
        "when false then null",
        RECORDS,
    ),
    Mutation(
        "a waiting array is not its task of the same number",
        "assets/sources/sacct/fields.py",
        "contains({job}, '[') or ends_with({job}, '_*')",
        "contains({job}, '[')",
        RECORDS,
    ),
    Mutation(
        "an Xid that NHC quotes has its code",
        "assets/sources/health/nhc_records.sql",
        "when is_failure and contains(lower(body), 'xid')",
        "when false then",
        RECORDS,
    ),
    Mutation(
        "nodes that GCM's monitor says are excluded are seen",
        "assets/sources/squeue/gcm_jobs.py",
        "where len(excluded) > 0",
        "where false",
        RECORDS,
    ),
    Mutation(
        "attempts that were not exported are missed",
        "assets/sources/intake/account/missing_attempts.sql",
        "where restarts.submitted_at > windows.first_end",
        "where false",
        RECORDS,
    ),
    Mutation(
        "a failure that is likely a coincidence counts for little",
        EXPOSURES,
        "coalesce(failures.posterior_probability, 0) as failure_probability",
        "case when failures.attempt_id is not null then 1.0::double else 0.0 end as failure_probability",
        ATTRIBUTION,
    ),
    Mutation(
        "evidence has a probability",
        JUDGED,
        "else attempt_posteriors.probability\n",
        "else 1\n",
        ATTRIBUTION,
    ),
    Mutation(
        "the culprit is the node of the likeliest evidence",
        JUDGED,
        "                coalesce(-event_posteriors.probability, 0),\n",
        "",
        ATTRIBUTION,
    ),
    Mutation(
        "work lost obeys the configured checkpoint interval",
        "dbt_project/macros/lost_gpu_hours.sql",
        "30 * {{ checkpoint_minutes }}",
        "1800",
        "tests/minimal/test_lost_work.py",
    ),
    Mutation(
        "attempts come in incidents",
        "assets/model/incident_counts.py",
        "dispersion = np.where(count > 0, variance / count, 1.0)",
        "dispersion = np.where(count > 0, 1.0, 1.0)",
        TABLES,
    ),
    Mutation(
        "months differ",
        "assets/model/prediction.py",
        "variance = np.asarray(future_exposure, dtype=float), np.asarray(relative_variance, dtype=float)",
        "variance = np.asarray(future_exposure, dtype=float), np.asarray(0.0 * np.asarray(relative_variance))",
        "tests/model/test_prediction.py",
    ),
    Mutation(
        "a rate that scatters has no changes for it",
        "assets/model/change_points.py",
        "dispersion = max(1.0, float(np.nan_to_num(neighbour_dispersion(count, time), nan=1.0)))",
        "dispersion = 1.0",
        "tests/model/test_change_points.py",
    ),
    Mutation(
        "times to failure know that incidents fail several jobs",
        "assets/model/survival.py",
        "return one_by_one, by_incident + (uncertain * scores[:, alone]) @ scores[:, alone].T",
        "return one_by_one, one_by_one",
        "tests/model/test_survival.py",
    ),
    Mutation(
        "few runs show bounds, not limits",
        "assets/model/mean_ratio.py",
        "np.where(is_few, BOUNDS_OF_FEW_RUNS, limits.method)",
        "limits.method",
        "tests/model/test_mean_ratio.py",
    ),
    Mutation(
        "clocks that are ahead are set right",
        "dbt_project/models/intermediate/events/int_health_events.sql",
        "where corrected_seconds != 0",
        "where false",
        ATTRIBUTION,
    ),
    Mutation(
        "false alarms look as those of their own check do",
        "assets/model/attribution_looks.py",
        "return self.by_check.shares(chances, of_check",
        "return self.by_check.shares(0.0 * chances, of_check",
        "tests/model/test_attribution.py",
    ),
    Mutation(
        "an episode does not vouch for itself",
        "assets/model/shares.py",
        "others = counts[:, self.number] - weights",
        "others = counts[:, self.number]",
        "tests/model/test_attribution_looks.py",
    ),
    Mutation(
        "what is hardly a cause does not teach what causes look like",
        "assets/model/attribution.py",
        "self.cause_looks.likelihood(causes * np.sqrt(probability))",
        "self.cause_looks.likelihood(causes)",
        "tests/model/test_attribution.py",
    ),
    Mutation(
        "strata share failures by exposure as far as they are seen to",
        "assets/model/attribution_prior.py",
        "weights * mean * (shape + count) / (shape + mean)",
        "weights * count",
        "tests/model/test_attribution_prior.py",
    ),
    Mutation(
        "of jobs that share a node a fault fails those that end together",
        "assets/model/attribution_aftermath.py",
        "rows, places = rows[is_later | is_beside], places[is_later | is_beside]",
        "rows, places = rows[is_later], places[is_later]",
        "tests/model/test_attribution.py",
    ),
    Mutation(
        "rates by cause know how uncertain the posterior is",
        "assets/estimates/est_cause_rates.sql",
        "coalesce(counts.failure_variance, 0) + coalesce(parameter_variances.variance, 0) as failure_variance",
        "coalesce(counts.failure_variance, 0) as failure_variance",
        "tests/estimates/test_est_cause_rates.py",
    ),
    Mutation(
        "a probability knows how uncertain the fit is",
        "assets/model/attribution.py",
        "Posterior(probability.mean(axis=0), probability)",
        "Posterior(probability[0], probability)",
        "tests/model/test_attribution.py",
    ),
    Mutation(
        "what maintenance requeues is planned",
        "dbt_project/models/intermediate/failures/int_attempts_interrupted.sql",
        "state in ('NODE_FAIL', 'REQUEUED', 'CANCELLED')",
        "state in ('NODE_FAIL', 'CANCELLED')",
        "tests/minimal/test_exposure.py",
    ),
)
