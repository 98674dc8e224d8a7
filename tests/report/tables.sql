-- Tables of marts and estimates as far as the report reads them, under their published names.
create schema marts;
create schema estimates;

create table marts.dim_clusters (
    cluster_id varchar, is_simulated boolean, timezone varchar, node_count integer, gpu_count integer,
    gpus_per_node integer, first_at timestamp, last_at timestamp, has_health_checks boolean,
    has_kernel_messages boolean, has_node_events boolean, has_slurmctld_log boolean, has_tickets boolean,
    has_inventory boolean, has_exclusions boolean
);
create table marts.dim_nodes (cluster_id varchar, node_id varchar, node_name varchar, gpu_count integer);
create table marts.dim_failure_categories (failure_category varchar, label varchar);
create table marts.fct_attempts (
    cluster_id varchar, attempt_id varchar, job_id varchar, job_id_raw bigint, user_name varchar, job_name varchar,
    state varchar, is_terminal boolean, started_at timestamp, ended_at timestamp, time_quality varchar,
    runtime_seconds bigint, node_count integer, gpu_count integer, gpu_hours double, node_days double,
    gpu_size_bin integer, is_infrastructure_failure boolean, failure_category varchar, warnings varchar[],
    node_ids varchar[] -- not published: which nodes the planted node-days fall on
);
create table marts.fct_failures (
    cluster_id varchar, attempt_id varchar, failed_at timestamp, failure_category varchar, attribution_rule varchar,
    is_attributed boolean, has_coverage boolean, culprit_node_id varchar, evidence_count integer, incident_id varchar,
    lost_gpu_hours double
);
create table marts.fct_incidents (cluster_id varchar, incident_id varchar, attempt_count integer);
create table marts.fct_node_outages (
    cluster_id varchar, node_id varchar, started_at timestamp, ended_at timestamp, reason varchar, is_planned boolean
);
create table marts.fct_job_runs (cluster_id varchar, run_id varchar, scheduled_hours double);
create table marts.fct_preemptions (
    cluster_id varchar, attempt_id varchar, preempted_at timestamp, instigator_attempt_id varchar,
    is_inferred boolean, is_second_order boolean, lost_gpu_hours double
);
create table marts.fct_node_days (
    cluster_id varchar, node_id varchar, day_date date, allocated_gpu_hours double, out_of_service_hours double
);
create table marts.agg_job_states (
    cluster_id varchar, state varchar, is_infrastructure boolean, attempt_count bigint, attempt_ratio double,
    gpu_hours double, gpu_time_ratio double
);
create table marts.agg_job_sizes (
    cluster_id varchar, gpu_size_bin integer, job_count bigint, job_ratio double, gpu_hours double,
    gpu_time_ratio double
);
create table marts.agg_failure_rates_by_cause (
    cluster_id varchar, failure_category varchar, failure_count bigint, gpu_hours double,
    failures_per_gpu_hour double, failures_per_gpu_hour_low double, failures_per_gpu_hour_high double,
    confidence_level double
);
create table estimates.est_failure_rates (
    cluster_id varchar, population varchar, counted_as varchar, failure_count bigint, node_days double,
    failures_per_1000_node_days double, failures_per_1000_node_days_low double,
    failures_per_1000_node_days_high double, is_reference boolean, confidence_level double, event_count bigint,
    note varchar
);
create table estimates.est_mttf_by_size (
    cluster_id varchar, gpu_size_bin bigint, failure_count bigint, runtime_hours double, mttf_hours double,
    mttf_hours_low double, mttf_hours_high double, mttf_theory_hours double, mttf_theory_hours_low double,
    mttf_theory_hours_high double, confidence_level double, event_count bigint, exposure double
);
create table estimates.est_mttf_projections (
    cluster_id varchar, gpu_count bigint, is_cluster_size boolean, is_largest_job boolean, population varchar,
    mttf_hours double, mttf_hours_low double, mttf_hours_high double, confidence_level double, event_count bigint,
    exposure double
);
create table estimates.est_ettr_by_size (
    cluster_id varchar, gpu_size_bin bigint, run_count bigint, ettr_measured double, ettr_measured_low double,
    ettr_measured_high double, ettr_bound_low double, ettr_bound_high double, ettr_expected double,
    ettr_expected_low double, ettr_expected_high double, ettr_expected_exact double, ettr_expected_exact_low double,
    ettr_expected_exact_high double, checkpoint_minutes double, restart_minutes double, write_minutes double,
    confidence_level double, event_count bigint, exposure double, note varchar
);
