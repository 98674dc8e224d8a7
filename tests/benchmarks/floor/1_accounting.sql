-- Several groups in a node list: `a01-g[02,05-07],b04-g11`.
create macro expand(hosts) as flatten(list_transform(
    regexp_extract_all(hosts, '[^,\[]+(?:\[[^\]]*\])?'),
    lambda part: if(
        not contains(part, '['), [part],
        flatten(list_transform(
            string_split(regexp_extract(part, '\[(.*)\]', 1), ','),
            lambda numbers: list_transform(
                range(split_part(numbers, '-', 1)::bigint, split_part(numbers, '-', -1)::bigint + 1),
                lambda i: split_part(part, '[', 1)
                    || lpad(i::varchar, length(split_part(numbers, '-', 1))::integer, '0')
            )
        ))
    )
));

-- Accounting: typed columns, UTC, one row per attempt.
create temp table records as
select
    hash(Cluster, JobIDRaw, Submit) as attempt_id, Cluster as cluster_id, JobID as job_id,
    JobIDRaw::bigint as job_id_raw,
    nullif(regexp_extract(JobID, '_(\d+)$', 1), '')::bigint as array_task_id, "User" as user_name, Account as account,
    "Partition" as partition, QOS as qos, JobName as job_name, split_part(State, ' ', 1) as state,
    nullif(split_part(State, ' ', 3), '')::bigint as cancelled_by, split_part(ExitCode, ':', 1)::integer as exit_code,
    split_part(ExitCode, ':', 2)::integer as exit_signal,
    split_part(DerivedExitCode, ':', 1)::integer as derived_exit_code,
    utc(Submit::timestamp) as submitted_at, utc(try_cast(Eligible as timestamp)) as eligible_at,
    utc(try_cast(Start as timestamp)) as started_at, utc(try_cast("End" as timestamp)) as ended_at,
    ElapsedRaw::bigint as runtime_seconds, epoch(try_cast(Suspended as interval))::bigint as suspended_seconds,
    NNodes::integer as requested_node_count, nullif(NodeList, 'None assigned') as node_list, AllocTRES as alloc_tres,
    ReqTRES as req_tres, try_cast(TimelimitRaw as bigint) * 60 as time_limit_seconds, Reason as pending_reason,
    Flags as flags, SubmitLine as submit_line
from read_csv(
    getvariable('sources') || '/*/sacct/*.psv', delim = '|', header = true, quote = '', escape = '',
    auto_detect = false, ignore_errors = true,
    columns = {
        'JobID': 'VARCHAR', 'JobIDRaw': 'VARCHAR', 'Cluster': 'VARCHAR', 'User': 'VARCHAR', 'Account': 'VARCHAR',
        'Partition': 'VARCHAR', 'QOS': 'VARCHAR', 'JobName': 'VARCHAR', 'State': 'VARCHAR', 'ExitCode': 'VARCHAR',
        'DerivedExitCode': 'VARCHAR', 'Submit': 'VARCHAR', 'Eligible': 'VARCHAR', 'Start': 'VARCHAR', 'End': 'VARCHAR',
        'ElapsedRaw': 'VARCHAR', 'Suspended': 'VARCHAR', 'NNodes': 'VARCHAR', 'NodeList': 'VARCHAR',
        'AllocTRES': 'VARCHAR', 'ReqTRES': 'VARCHAR', 'TimelimitRaw': 'VARCHAR', 'Reason': 'VARCHAR',
        'Flags': 'VARCHAR', 'SubmitLine': 'VARCHAR'
    }
)
where not contains(JobID, '.');
