-- Schema ops of the working warehouse: what became of every file and line, and what every refresh did.
-- Every timestamp is UTC without a zone. The comment after a table or column is its description in the published file;
-- a column without one means what the first column of its name means.

create schema if not exists ops;

create table if not exists ops.files (        -- one row per file that was read, is refused, or is an older version of one
    cluster_id varchar not null,              -- name of the cluster's folder under the sources folder
    path varchar not null,                    -- path of the file, relative to the sources folder
    sha256 varchar not null,                  -- hash of its bytes
    kind varchar not null,                    -- the folder: sacct, health, kernel, events, slurmctld, inventory, squeue, tickets, failures; manifest
    dialect varchar not null,                 -- the form that it was read as
    lines_in bigint not null,                 -- lines of the file: loaded, skipped and quarantined together
    loaded bigint not null,                   -- lines that were understood, not rows: one line may state several facts
    skipped bigint not null,                  -- lines that say nothing of use, by reason in ops.skips
    quarantined bigint not null,              -- lines that were not understood, in ops.quarantine
    run_id varchar not null,                  -- the run that read it; of an older version the run that found other bytes
    size_bytes bigint not null,               -- size of the file
    modified_at timestamp not null,           -- when it was last written, by its folder
    is_partial boolean not null,              -- truncated: read again when it changes
    reader varchar not null,                  -- version of the reader and hash of the settings it read with
    warnings varchar[] not null,              -- what is odd about the file, which was still read
    first_at timestamp,                       -- the first moment in its lines, else in its name. NULL: no time is known
    last_at timestamp,                        -- the last moment in its lines, else in its name; never its modification. NULL: no time is known
    status varchar default 'read',            -- read; refused: nothing of it is loaded; doubtful: too much of it was not understood; cut_off: an archive or a document without its end; blind: a log with fewer than half of its lines understood
    reason varchar,                           -- why the status is not `read`
    next_step varchar,                        -- what to do about it
    is_present boolean default true,          -- false: missing from the sources folder; its rows stay until they are forgotten
    version_of varchar,                       -- for an older version: the path of the file that has other bytes now
    text_sha256 varchar,                      -- hash of the text in an archive; NULL: not an archive, or translated
    text_bytes bigint,                        -- size of the text in an archive; NULL: not an archive, or translated
    open_line bigint                          -- the number of the last line if it has no end, as a program may still be writing it
);

create table if not exists ops.privacy (      -- one row per cluster whose names are stored as pseudonyms
    cluster_id varchar not null,
    key_id varchar not null                   -- identifies the key without revealing it
);

create table if not exists ops.spans (        -- one row per cluster, kind of log and interval that is covered
    cluster_id varchar not null,
    kind varchar not null,                    -- sacct, health, kernel, events, slurmctld, inventory, squeue, tickets, failures
    from_at timestamp not null,               -- begin of the interval
    to_at timestamp not null,                 -- end of the interval
    known_by varchar not null                 -- cluster.toml, manifest (of every file), log (the times of the lines), clock (the interval ends now, as later records are dated after this machine's clock)
);

create table if not exists ops.sight (        -- one row per cluster, node, kind of log and day on which it could have shown a fault of the node
    cluster_id varchar not null,
    node_id varchar not null,                 -- node, as in dim_nodes
    kind varchar not null,                    -- health, kernel: of the node itself; events, slurmctld: of all nodes of the cluster
    day_date date not null                    -- the UTC day
);

create table if not exists ops.years (        -- one row per log with lines without a year, and what settles the year
    cluster_id varchar not null,
    path varchar not null,
    days map(date, bigint) not null,          -- number of such lines by day, in the year of the file's date; in a large file every n-th line counts
    is_of_file_date boolean not null,         -- the last of them is of the day of that date, or of the day before, so the date is theirs
    has_leap_day boolean not null,            -- some are of a 29 February
    first_at timestamp,                       -- the first moment of these lines, by the date of the file
    last_at timestamp,                        -- the last moment of these lines, by the date of the file
    others_first_at timestamp,                -- the first moment of the lines of the file that have a year
    others_last_at timestamp,                 -- the last moment of the lines of the file that have a year
    years_back integer not null               -- how many years before the date of the file these lines are, by accounting (settled)
);

drop table if exists ops.resume_points;
drop table if exists ops.unsettled;
drop table if exists ops.unsettled_files;

create table if not exists ops.quarantine (   -- one row per line that was not understood
    cluster_id varchar not null,
    path varchar not null,
    line_number bigint not null,              -- line of the file, counted from 1
    reason varchar not null,                  -- why it was not understood
    detail varchar,                           -- the value that was not understood
    raw varchar not null                      -- the part of the line that shows the problem, secrets masked
);

create table if not exists ops.skips (        -- one row per file and reason for which lines were skipped
    cluster_id varchar not null,
    path varchar not null,
    reason varchar not null,                  -- header, blank, comment, continuation, step, pending_array, other_cluster, duplicate, coalesced, untrusted_source, not_relevant, ...
    line_count bigint not null                -- lines skipped for that reason
);

create table if not exists ops.runs (         -- one row per refresh
    run_id varchar not null,                  -- key of the refresh
    started_at timestamp not null,            -- when it began
    ended_at timestamp,                       -- when it ended; NULL: it runs, or was killed
    status varchar not null,                  -- running, succeeded, failed
    code_version varchar not null,            -- version of Faultline, with a hash of its code
    message varchar                           -- why it failed
);

create table if not exists ops.stages (       -- one row per run and stage: how long it took
    run_id varchar not null,                  -- the run
    stage varchar not null,                   -- sources (fetching from Slurm), raw, dbt (all models and their tests), estimates, checks, ops, report; published: in the working file only
    started_at timestamp not null,            -- start of its first step
    ended_at timestamp not null,              -- end of its last step; steps of other stages may lie between
    seconds double not null,                  -- time that its steps took
    step_count integer not null               -- how many steps it had
);

create table if not exists ops.cluster_failures (   -- one row per run, cluster and reason for which it could not be built
    run_id varchar not null,                  -- the run
    cluster_id varchar not null,
    stage varchar not null,                   -- the step that found it; sources: before anything was checked or built; privacy: so too, and nothing else of the cluster is published
    reason varchar not null,                  -- why it could not be built
    failed_at timestamp not null              -- when it was found
);

create table if not exists ops.pulls (        -- one row per cluster whose logs are fetched from Slurm: its last fetch
    cluster_id varchar not null,
    run_id varchar not null,                  -- the run that recorded it
    status varchar not null,                  -- pulled; incomplete: some query failed; failed: the newest accounting is missing
    ended_at timestamp not null,              -- when fetching ended
    pulled_to timestamp,                      -- accounting was fetched up to here; NULL: never
    reason varchar,                           -- what could not be fetched and why
    next_step varchar                         -- what to do about it
);

create table if not exists ops.checks (       -- one row per run, check and cluster that it judged
    run_id varchar not null,                  -- the run
    table_name varchar not null,              -- schema.table
    check_name varchar not null,              -- name of the check, unique in its table
    passed boolean not null,                  -- whether the check holds
    is_blocking boolean not null,             -- if it does not hold, nothing of the cluster is published
    observed varchar,                         -- what was found
    expected varchar,                         -- what should hold
    checked_at timestamp not null,            -- when it was judged
    cluster_id varchar                        -- whose rows it is about; NULL: all clusters
);

create table if not exists ops.alerts (       -- one row per event and channel: alerts that were sent before this run
    event_key varchar not null,               -- events with one key are one event, which is sent once
    kind varchar not null,                    -- failure, stale, cluster, change_point, lemon, error_budget
    cluster_id varchar,                       -- NULL: the home
    channel varchar not null,                 -- webhook, command; of a cluster's own: cluster/webhook ...
    status varchar not null,                  -- delivered, failed (sent again, five times at most), uncertain (sent once more)
    attempt_count integer not null,           -- how often it was sent
    tried_at timestamp not null               -- when it was last sent
);
alter table ops.alerts drop column if exists told;
alter table ops.alerts drop column if exists error;
alter table ops.alerts drop column if exists claimed_at;

create table if not exists ops.lineage (      -- one row per column and column that it is computed from
    table_name varchar not null,
    column_name varchar not null,             -- column of that table
    upstream_table varchar not null,          -- schema.table that it is computed from
    upstream_column varchar not null          -- column of that table
);

create table if not exists ops.published (    -- one row per publication
    run_id varchar not null,                  -- the run that published
    published_at timestamp not null,          -- when it did
    input_hash varchar not null,              -- over path, sha256 of every file and configuration
    code_version varchar not null,
    row_counts json not null                  -- exact rows of every published table, by its name
);
