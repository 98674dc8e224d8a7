-- Schema raw of the working warehouse: what the source readers write and the dbt staging layer reads.
-- Every timestamp is UTC without a zone. `disposition` says what became of the row's line:
--   loaded     the row counts
--   duplicate  another row states the same fact (same file twice, overlapping exports, RUNNING replaced by its end)
--   coalesced  part of another row: a repeat of the same symptom within seconds, counted in the first row's line_count,
--              or an earlier slice of an attempt that sacct -T cut, which staging adds to the last one
--   unknown_node  the host is not a node of this cluster; listed in ops.quarantine, as are the next two
--   began_before_study         a run began years before anything else in accounting ended
--   more_nodes_than_inventory  a record names far more nodes than the inventory knows
-- Staging views read rows whose disposition is 'loaded'.
-- A home keeps its tables: a column that is new here also needs `alter table ... add column if not exists` after its table.

create schema if not exists raw;

create table if not exists raw.clusters (
    cluster_id varchar not null,              -- folder name
    is_simulated boolean not null,            -- cluster.toml simulated = true
    timezone varchar not null,                -- IANA zone of naive timestamps
    gpus_per_node integer not null,
    gpu_model varchar,
    price_per_gpu_hour double,                -- NULL: not configured
    currency varchar,
    attribution_before_seconds integer not null,
    attribution_after_seconds integer not null,
    attribution_priority varchar[] not null,  -- configured order of failure categories; empty: the seed's
    runs_chain boolean not null,
    runs_chain_gap_seconds integer not null,
    checkpoint_minutes double not null,
    restart_minutes double not null,
    write_minutes double not null,
    lemon_window_days integer not null,
    lemon_rate_days integer,                  -- NULL: as many as needed
    lemon_thresholds json not null,           -- {"tickets": 3}: limits by signal; for the others the fleet gives the limit
    quarantine_max_share double not null,
    annotations json not null,                -- [{"at": "2026-01-31", "text": "..."}]
    config_path varchar,                      -- NULL: no cluster.toml, all defaults
    config_sha256 varchar,
    report_names varchar,                     -- shown, hidden: whether the report shows users, accounts and job names
    health_check_rules json,                  -- [{"rule_order": 1, "check_name": "...", ...}]: the site's own, in order
    kernel_rules json,                        -- [{"rule_order": 1, "pattern": "...", ...}]
    node_reason_rules json,                   -- the same
    xid_rules json,                           -- [{"code": 999, ...}]
    availability_objective double,            -- NULL: none
    rack_pattern varchar,                     -- its first group finds the rack in the name of a node; NULL: none is configured
    switch_pattern varchar,
    nvlink_domain_pattern varchar,
    position_pattern varchar,
    repair_action_rules json,                 -- [{"rule_order": 1, "pattern": "...", "repair_action": "..."}]
    units_in_service json                     -- [{"unit_count": 400, "from_at": "2026-01-31T00:00:00", "to_at": "..."}]; null: no end
);
alter table raw.clusters add column if not exists availability_objective double;
alter table raw.clusters add column if not exists rack_pattern varchar;
alter table raw.clusters add column if not exists switch_pattern varchar;
alter table raw.clusters add column if not exists nvlink_domain_pattern varchar;
alter table raw.clusters add column if not exists position_pattern varchar;
alter table raw.clusters add column if not exists repair_action_rules json;
alter table raw.clusters add column if not exists units_in_service json;

create table if not exists raw.node_names (   -- every spelling seen -> the node it means
    cluster_id varchar not null,
    name_as_seen varchar not null,
    node_id varchar not null                  -- lower case, domain and suffixes stripped, aliases applied
);

create table if not exists raw.host_names (   -- every spelling seen of a host that the inventory gives to a node, and when it means it
    cluster_id varchar not null,
    name_as_seen varchar not null,
    node_id varchar not null,
    from_at timestamp not null,
    to_at timestamp not null
);

create table if not exists raw.sightings (    -- one row per file, host and day with a line of that host that was understood
    cluster_id varchar not null,
    path varchar not null,
    node_name varchar not null,               -- as seen; includes hosts that are not nodes
    day_date date not null                    -- UTC
);

create table if not exists raw.node_lists (   -- every distinct node list of raw.sacct, expanded once
    cluster_id varchar not null,
    node_list varchar not null,
    node_names varchar[] not null,            -- as Slurm prints them
    node_ids varchar[] not null
);

create table if not exists raw.sacct (        -- one row per allocation record of sacct
    cluster_id varchar not null,
    path varchar not null,                    -- relative to the sources folder
    line_number bigint not null,
    disposition varchar not null,
    job_id varchar not null,                  -- as shown: 123, 123_4, 23+1
    job_id_raw bigint not null,
    array_job_id bigint,
    array_task_id bigint,
    het_job_id bigint,
    het_offset bigint,
    db_index bigint,                          -- its 64 bits; from Slurm 24.11 on often above the range of a bigint, hence negative
    sluid varchar,
    user_name varchar,                        -- 'uid:100234' when the account was deleted
    uid bigint,
    account varchar,
    partition varchar,
    qos varchar,
    job_name varchar,
    submitted_at timestamp not null,
    eligible_at timestamp,
    started_at timestamp,                     -- as recorded; a RESIZING chain shares one Start
    ended_at timestamp,                       -- NULL: still running or pending
    time_quality varchar not null,            -- epoch, offset, local, ambiguous_dst
    elapsed_seconds bigint,                   -- suspension excluded
    suspended_seconds bigint,
    state varchar not null,                   -- full name, no '+', no 'by uid'
    state_raw varchar not null,
    cancelled_by_uid bigint,
    exit_code integer,
    exit_signal integer,
    derived_exit_code integer,
    derived_exit_signal integer,
    node_list varchar,                        -- as printed; NULL when nothing was allocated
    node_ids varchar[] not null,              -- expanded and normalised; [] when nothing was allocated
    requested_node_count integer,
    gpu_count integer,                        -- allocated; NULL: unknown
    gpu_count_source varchar not null,        -- tres, tres_typed, nothing_allocated, none (a TRES without GPUs), no_count (GPUs named without a count), no_tres (no TRES)
    gpu_type varchar,                         -- 'mixed' possible
    requested_gpu_count integer,
    cpu_count integer,
    requested_memory_mib double,
    time_limit_seconds bigint,
    restart_count integer,
    failed_node_id varchar,                   -- FailedNode of Slurm 23.02 and later
    pending_reason varchar,                   -- last pending reason; never a failure cause
    flags varchar,
    submit_line varchar,
    excluded_node_ids varchar[] not null,     -- --exclude / -x of the submit line, expanded; names of no node too
    warnings varchar[] not null,
    gpu_utilisation double                    -- 0 to 1, from jobstats' summary in AdminComment
);
alter table raw.sacct add column if not exists gpu_utilisation double;

create table if not exists raw.health_checks (  -- one row per check result; for an unchanged stretch its first and last
    cluster_id varchar not null,
    path varchar not null,
    line_number bigint not null,
    disposition varchar not null,
    node_name varchar not null,               -- as seen
    node_id varchar,                          -- NULL: not a node of this cluster
    check_name varchar not null,              -- as seen
    check_type varchar,                       -- prolog, epilog, periodic, app, manual, event
    result varchar not null,                  -- OK, WARN, CRITICAL, UNKNOWN
    result_quality varchar not null,          -- ran, disabled, could_not_run
    started_at timestamp,
    observed_at timestamp not null,
    job_id_raw bigint,                        -- NULL: outside a job
    xid_codes integer[] not null,             -- XIDs named in the message, critical ones first
    message varchar,
    unchanged_since timestamp,                -- first of the results that said the same, at least one in every quarter of an hour; those between are skipped
    dated_by_file_at timestamp                -- for a line without a year: its moment by the date of the file (ops.years); NULL: the line has a year
);

create table if not exists raw.kernel_messages (  -- one row per kernel line worth reading
    cluster_id varchar not null,
    path varchar not null,
    line_number bigint not null,
    disposition varchar not null,
    node_name varchar not null,
    node_id varchar,
    occurred_at timestamp not null,
    time_quality varchar not null,            -- exact, second, year_inferred, local_assumed, dmesg_t, boot_relative, ambiguous_dst
    kind varchar not null,                    -- kind in dbt_project/seeds/kernel_rules.csv, which has the rule too
    rule varchar,                             -- NULL: an earlier version read the line
    code integer,                             -- Xid or SXid
    pci_address varchar,                      -- lower case dddd:bb:dd
    mig_gpu_instance integer,
    mig_compute_instance integer,
    link integer,                             -- NVLink number of an SXid
    process_id bigint,
    process_name varchar,
    is_fatal boolean,                         -- where the line says so
    recovery_action varchar,                  -- Xid 154
    repeat_count integer not null,            -- 'message repeated N times'; 1 otherwise
    line_count integer not null,              -- lines coalesced into this event
    message varchar not null,
    dated_by_file_at timestamp,               -- for a line without a year: its moment by the date of the file (ops.years); NULL: the line has a year
    version varchar                           -- numbers of the version that was loaded or booted, such as 5.15.0-112; NULL: the line is not about a version
);
alter table raw.kernel_messages add column if not exists version varchar;

create table if not exists raw.node_events (  -- one row per row of sacctmgr show event
    cluster_id varchar not null,
    path varchar not null,
    line_number bigint not null,
    disposition varchar not null,
    event_kind varchar not null,              -- node, cluster
    node_name varchar,
    node_id varchar,                          -- NULL for cluster events
    started_at timestamp not null,
    ended_at timestamp,                       -- NULL: open
    state varchar,                            -- DOWN, DRAIN, ... without suffix
    state_flags varchar,                      -- the suffix: * # ~ ...
    reason varchar,
    reason_user varchar,
    reason_uid bigint
);

create table if not exists raw.nodes (        -- one row per node of an inventory snapshot
    cluster_id varchar not null,
    path varchar not null,
    line_number bigint not null,
    disposition varchar not null,             -- duplicate: an older snapshot of the same node
    node_name varchar not null,
    node_id varchar not null,
    captured_at timestamp,                    -- latest time in the snapshot or in its file's name, else its modification
    state varchar,
    gpu_count integer,                        -- NULL: unknown
    gpu_model varchar,
    cpu_count integer,
    memory_mib bigint,
    partitions varchar[] not null,
    booted_at timestamp,
    reason varchar,
    reason_user varchar,
    reason_at timestamp,                      -- request time of an open drain
    host_names varchar[],                     -- names and address of the host that are not the node's own; NULL: unknown
    rack varchar,
    switch varchar,                           -- the switch that the node is attached to
    nvlink_domain varchar,
    position varchar,                         -- in the rack
    kernel_version varchar,                   -- numbers of the version of Linux; NULL: unknown
    slurm_version varchar                     -- version of slurmd
);
alter table raw.nodes add column if not exists rack varchar;
alter table raw.nodes add column if not exists switch varchar;
alter table raw.nodes add column if not exists nvlink_domain varchar;
alter table raw.nodes add column if not exists position varchar;
alter table raw.nodes add column if not exists kernel_version varchar;
alter table raw.nodes add column if not exists slurm_version varchar;

create table if not exists raw.slurmctld_events (  -- one row per (line, node) of slurmctld.log that is worth reading
    cluster_id varchar not null,
    path varchar not null,
    line_number bigint not null,
    disposition varchar not null,
    logged_at timestamp not null,
    kind varchar not null,                    -- preempted, preempted_without_instigator, controller_started, job_node_failure, node_not_responding, node_not_resumed, node_powered_down, state_shown, reason_set, state_set, node_returned, node_rebooted, node_invalid, prolog_failure, epilog_failure, drained_by_slurm, job_requeued, site_rule
    job_id_raw bigint,                        -- the victim for preemptions
    instigator_job_id_raw bigint,
    instigator_array_job_id bigint,           -- some task of this array, shown as 12_*
    preempt_mode varchar,                     -- requeued, killed, suspended
    node_name varchar,
    node_id varchar,
    state varchar,                            -- state_set: DRAIN, DRAINING, DRAINED (with $ in a reservation for maintenance), DOWN, IDLE, RESUME, ALLOCATED, MIXED
    reason varchar,
    message varchar not null,
    dated_by_file_at timestamp,               -- for a line without a year: its moment by the date of the file (ops.years); NULL: the line has a year
    rule_pattern varchar,                     -- site_rule: pattern of the rule in cluster.toml that fits
    version varchar                           -- controller_started: numbers of the version of slurmctld
);
alter table raw.slurmctld_events add column if not exists version varchar;

create table if not exists raw.unknown_lines (  -- lines with the weight of an error that no rule knows: one row per file, shape, node and five minutes
    cluster_id varchar not null,
    path varchar not null,
    line_number bigint not null,              -- line of the first of them
    disposition varchar not null,
    kind varchar not null,                    -- the folder: kernel, slurmctld
    node_name varchar,                        -- NULL: the line names none
    node_id varchar,                          -- NULL: none, or not a node of this cluster
    first_at timestamp not null,
    duration_seconds double not null,         -- from the first to the last
    shape varchar not null,                   -- the text in lower case, # for numbers, addresses and names
    line_count bigint not null,
    example varchar,                          -- the first text of the shape in the file; NULL in the other rows of the shape
    dated_by_file_at timestamp                -- for lines without a year: first_at by the date of the file (ops.years); NULL: they have a year
);

create table if not exists raw.tickets (      -- one row per (ticket, node)
    cluster_id varchar not null,
    path varchar not null,
    line_number bigint not null,
    disposition varchar not null,
    ticket_id varchar not null,
    node_name varchar not null,
    node_id varchar,
    opened_at timestamp not null,
    closed_at timestamp,
    component varchar not null,               -- GPU, DIMM, PCIe, EUD, BIOS, NIC, PSU, Optics, CPU, other, unknown
    component_raw varchar,
    action varchar,
    status varchar,
    summary varchar
);

create table if not exists raw.unit_failures (  -- one row per (record of a failure, node)
    cluster_id varchar not null,
    path varchar not null,
    line_number bigint not null,
    disposition varchar not null,
    node_name varchar,                        -- NULL: the record names none
    node_id varchar,
    unit_name varchar,                        -- name of what failed, if it is not a node; NULL: the node, or unknown
    started_at timestamp not null,
    ended_at timestamp,                       -- NULL: still down, or unknown
    down_minutes double,                      -- from started_at to ended_at; a stated duration sets ended_at
    cause varchar,
    cause_detail varchar,
    action varchar,
    repeat_number integer not null            -- among the records of the file with the same node, unit and start
);

create table if not exists raw.squeue_exclusions (  -- one row per (line, excluded node)
    cluster_id varchar not null,
    path varchar not null,
    line_number bigint not null,
    disposition varchar not null,
    job_id_raw bigint not null,
    node_name varchar not null,
    node_id varchar,
    seen_at timestamp
);

create table if not exists raw.manifests (    -- one row per manifest: what the file next to it covers
    cluster_id varchar not null,
    path varchar not null,
    line_number bigint not null,
    disposition varchar not null,
    kind varchar not null,                    -- the folder it lies in
    log_path varchar not null,                -- path of the file it belongs to
    command varchar,                          -- command that made the file
    from_at timestamp not null,
    to_at timestamp not null
);
