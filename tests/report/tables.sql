-- Tables of marts and estimates as far as the report reads them, under their published names.
create schema marts;
create schema estimates;

create table marts.dim_clusters (
    cluster_id varchar, is_simulated boolean, timezone varchar, node_count integer, gpu_count integer,
    gpus_per_node integer, checkpoint_minutes double default 60, first_at timestamp, last_at timestamp,
    study_from_at timestamp, study_to_at timestamp, data_through_at timestamp, has_health_checks boolean,
    has_kernel_messages boolean, has_node_events boolean, has_slurmctld_log boolean, has_tickets boolean,
    has_inventory boolean, has_exclusions boolean, is_stale boolean default false, stale_reason varchar,
    built_at timestamp
);
create table marts.dim_nodes (cluster_id varchar, node_id varchar, node_name varchar, gpu_count integer);
create table marts.dim_failure_categories (
    failure_category varchar, label varchar, is_user_program boolean, is_system_software boolean, is_hardware boolean,
    is_table_one boolean, priority integer, likely_causes varchar
);
create table marts.fct_failure_evidence (
    cluster_id varchar, attempt_id varchar, event_id varchar, node_id varchar, failure_category varchar,
    lag_seconds double, evidence_rank integer, is_primary boolean
);
create table marts.fct_health_events (
    cluster_id varchar, event_id varchar, node_id varchar, observed_at timestamp, source varchar, check_name varchar,
    message varchar, source_path varchar, source_line_number bigint
);
create table marts.fct_attempts (
    cluster_id varchar, attempt_id varchar, job_id varchar, job_id_raw bigint, user_name varchar, job_name varchar,
    state varchar, is_terminal boolean, started_at timestamp, ended_at timestamp, time_quality varchar,
    runtime_seconds bigint, node_count integer, gpu_count integer, gpu_hours double, node_days double,
    gpu_size_bin integer, is_infrastructure_failure boolean, failure_category varchar, warnings varchar[],
    run_id varchar, attempt_number integer, account varchar, source_path varchar, source_line_number bigint,
    node_ids varchar[] -- not published: which nodes the planted node-days fall on
);
create table marts.fct_failures (
    cluster_id varchar, attempt_id varchar, failed_at timestamp, failure_category varchar, attribution_rule varchar,
    is_attributed boolean, posterior_probability double, has_coverage boolean, culprit_node_id varchar,
    evidence_count integer, incident_id varchar, lost_gpu_hours double
);
create table marts.fct_incidents (
    cluster_id varchar, incident_id varchar, attempt_count integer, failure_category varchar
);
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
    method_version varchar,
    cluster_id varchar, population varchar, counted_as varchar, failure_count double,
    failure_variance double, node_days double, unexplained_count bigint,
    failures_per_1000_node_days double, failures_per_1000_node_days_low double,
    failures_per_1000_node_days_high double, is_reference boolean, confidence_level double, event_count bigint,
    note varchar
);
create table estimates.est_mttf_by_size (
    method_version varchar,
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
    method_version varchar,
    cluster_id varchar, gpu_size_bin bigint, run_count bigint, ettr_measured double, ettr_measured_low double,
    ettr_measured_high double, ettr_bound_low double, ettr_bound_high double, ettr_expected double,
    ettr_expected_low double, ettr_expected_high double, ettr_expected_exact double, ettr_expected_exact_low double,
    ettr_expected_exact_high double, ettr_expected_v2 double, ettr_expected_v2_low double,
    ettr_expected_v2_high double, checkpoint_minutes double, restart_minutes double, write_minutes double,
    confidence_level double, event_count bigint, exposure double, note varchar
);
create table estimates.est_ettr_by_qos (
    cluster_id varchar, qos varchar, gpu_size_bin bigint, run_count bigint, ettr_measured double,
    ettr_measured_low double, ettr_measured_high double, ettr_bound_low double, ettr_bound_high double,
    confidence_level double, event_count bigint, exposure double, note varchar
);
create table marts.agg_failure_rates_daily (
    cluster_id varchar, day_date date, failure_category varchar, failure_count bigint, node_days double,
    window_day_count integer, failure_count_30d bigint, node_days_30d double, failures_per_1000_node_days_30d double
);
create table marts.agg_check_introductions (
    cluster_id varchar, check_name varchar, source varchar, failure_category varchar, first_reported_at timestamp,
    is_introduction boolean
);
create table marts.dim_annotations (
    cluster_id varchar, annotation_number integer, annotated_date date, annotation varchar
);
create table marts.agg_cooccurrence (
    cluster_id varchar, failure_category varchar, other_category varchar, other_kind varchar, failure_count bigint,
    both_count bigint, both_ratio double
);
create table estimates.est_rate_changes (
    cluster_id varchar, failure_category varchar, changed_at timestamp, changed_at_low timestamp,
    changed_at_high timestamp, rate_before double, rate_before_low double, rate_before_high double, rate_after double,
    rate_after_low double, rate_after_high double, ratio double, ratio_low double, ratio_high double,
    annotation varchar, trend_score double, trend_p_value double, confidence_level double, method varchar,
    event_count bigint, exposure double, note varchar
);
create table estimates.est_attribution_chance (
    cluster_id varchar, failure_category varchar, attributed_count bigint, failed_count bigint,
    coincidence_count bigint, completed_count bigint, attributed_ratio double, attributed_ratio_low double,
    attributed_ratio_high double, chance_ratio double, chance_ratio_low double, chance_ratio_high double,
    corrected_ratio double, corrected_ratio_low double, corrected_ratio_high double, credible_ratio double,
    confidence_level double, note varchar
);
create table estimates.est_attribution_windows (
    cluster_id varchar, before_seconds integer, after_seconds integer, is_configured boolean, attributed_count bigint,
    failed_count bigint, coincidence_count bigint, completed_count bigint, attributed_ratio double,
    attributed_ratio_low double, attributed_ratio_high double, chance_ratio double, chance_ratio_low double,
    chance_ratio_high double, corrected_ratio double, corrected_ratio_low double, corrected_ratio_high double,
    credible_ratio double, confidence_level double, note varchar
);
create table estimates.est_scale_tests (
    cluster_id varchar, beta double, beta_low double, beta_high double, equivalence_margin double, verdict varchar,
    size_count bigint, node_count_min double, node_count_max double, confidence_level double, event_count bigint,
    exposure double, note varchar
);
create table estimates.est_time_to_failure (
    cluster_id varchar, gpu_size_bin bigint, weibull_shape double, weibull_shape_low double, weibull_shape_high double,
    verdict varchar, goodness_of_fit_p_value double, confidence_level double, event_count bigint, exposure double,
    note varchar
);
create table estimates.est_forecast_scores (
    cluster_id varchar, month_date date, population varchar, is_over boolean, node_days double, failure_count double,
    node_days_expected double, failures_expected double, failures_expected_low double, failures_expected_high double,
    has_failures_inside boolean, failures_per_1000_node_days double, rate_expected double, rate_expected_low double,
    rate_expected_high double, has_rate_inside boolean, log_score double, log_score_naive double,
    confidence_level double, method varchar, note varchar
);
create table estimates.est_cause_rates (
    method_version varchar,
    cluster_id varchar, failure_category varchar, failure_count double,
    failures_per_gpu_hour double, failures_per_gpu_hour_low double, failures_per_gpu_hour_high double,
    gpu_hours double, confidence_level double
);
create table estimates.est_rate_ratios (
    comparison varchar, cluster_id varchar, other_cluster_id varchar, boundary_date date, annotation varchar,
    population varchar, counted_as varchar, is_reference boolean, is_simulated boolean, other_is_simulated boolean,
    failure_count bigint, node_days double, rate double, other_failure_count bigint, other_node_days double,
    other_rate double, ratio double, ratio_low double, ratio_high double, p_value double, confidence_level double,
    note varchar
);
create table marts.agg_lost_goodput (
    cluster_id varchar, gpu_size_bin integer, failure_count bigint, first_order_gpu_hours double,
    second_order_count bigint, second_order_gpu_hours double, instigator_unknown_count bigint,
    instigator_unknown_gpu_hours double, expected_lost_gpu_hours double
);
create table marts.agg_crash_loops (
    cluster_id varchar, run_id varchar, user_name varchar, account varchar, gpu_count integer, started_at timestamp,
    ended_at timestamp, consecutive_failure_count integer, failure_count integer, attempt_count integer,
    victim_count bigint, second_order_victim_count bigint, first_order_gpu_hours double, victim_gpu_hours double,
    lost_gpu_hours double
);
create table marts.agg_lost_hours_by_account (
    cluster_id varchar, account varchar, user_name varchar, failure_count bigint, second_order_count bigint,
    gpu_unknown_count bigint, lost_gpu_hours double, first_order_gpu_hours double, second_order_gpu_hours double,
    lost_cost double, currency varchar
);
create table marts.fct_incident_suspects (
    cluster_id varchar, incident_id varchar, node_id varchar, is_known boolean, failed_at timestamp,
    incident_probability double, lost_gpu_hours double
);
create table marts.fct_tickets (
    cluster_id varchar, ticket_id varchar, node_id varchar, opened_at timestamp, closed_at timestamp, component varchar
);
create table marts.agg_lemon_windows (cluster_id varchar, window_end_date date, thresholds json);
create table marts.agg_lemon_signals (
    cluster_id varchar, node_id varchar, window_end_date date, excl_jobid_count integer, xid_cnt integer,
    tickets integer, out_count integer, multi_node_node_fails integer, single_node_node_fails integer,
    single_node_node_failure_rate double
);
create table estimates.est_lemon_nodes (
    method_version varchar,
    cluster_id varchar, node_id varchar, rank bigint, posterior_probability double, false_discovery_ratio double,
    rate double, rate_low double, rate_high double, fleet_rate double, verdict varchar, reasons varchar,
    signals_above varchar[], inferred_failure_count double, p_value double, window_start_date date,
    window_end_date date, confidence_level double, event_count bigint, exposure double, note varchar
);
create table estimates.est_lemon_evaluations (
    cluster_id varchar, window_start_date date, window_end_date date, judged_end_date date, named_count bigint,
    bad_count bigint, judged_count bigint, precision double, precision_low double, precision_high double,
    recall double, recall_low double, recall_high double, lift double, lost_gpu_hours_avoidable double,
    lost_gpu_hours_avoidable_low double, lost_gpu_hours_avoidable_high double, large_gpu_count bigint,
    large_job_count bigint, large_job_failure_ratio double, large_job_failure_ratio_low double,
    large_job_failure_ratio_high double, large_job_failure_ratio_without_lemons double,
    large_job_failure_ratio_without_lemons_low double, large_job_failure_ratio_without_lemons_high double,
    confidence_level double, method varchar, event_count bigint, exposure double, note varchar
);
create table estimates.est_lemon_root_causes (
    cluster_id varchar, root_cause varchar, node_count bigint, ratio double, ratio_low double, ratio_high double,
    confidence_level double, note varchar
);
create table estimates.est_lemon_effects (
    cluster_id varchar, population varchar, failure_ratio double, failure_ratio_low double, failure_ratio_high double,
    attempt_count bigint, failure_count bigint, large_gpu_count bigint, lemon_count bigint, confidence_level double,
    note varchar
);
create table estimates.est_ettr_grid (
    scenario varchar, gpu_count bigint, node_count bigint, failures_per_1000_node_days double,
    checkpoint_minutes double, restart_minutes double, write_minutes double, mttf_hours double,
    ettr_expected_exact double, ettr_target double, checkpoint_minutes_longest double
);
create table estimates.est_checkpoint_plans (
    cluster_id varchar, gpu_count bigint, population varchar, failures_per_1000_node_days double,
    failures_per_1000_node_days_low double, failures_per_1000_node_days_high double, mttf_hours double,
    mttf_hours_low double, mttf_hours_high double, planned_days double, restart_minutes double, write_minutes double,
    checkpoint_minutes_young double, checkpoint_minutes_daly double, checkpoint_minutes_optimal double,
    checkpoint_minutes_optimal_low double, checkpoint_minutes_optimal_high double, ettr_optimal double,
    ettr_optimal_low double, ettr_optimal_high double, ettr_target double, probability_ettr_ge_target double,
    confidence_level double, event_count bigint, exposure double, note varchar
);
