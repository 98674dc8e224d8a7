select
    parsed.file_id, parsed.line_number, parsed.logged_at, parsed.kind, parsed.job_id_raw,
    parsed.instigator_job_id_raw, parsed.instigator_array_job_id, parsed.preempt_mode,
    unnest(coalesce(lists.node_names, [null])) as node_name,
    parsed.state, parsed.reason, parsed.version, parsed.message,
    case when parsed.has_no_year then parsed.logged_at end as dated_by_file_at
from slurmctld_parsed as parsed
left join slurmctld_node_lists as lists on lists.node_list = parsed.node_list
anti join slurmctld_problems as bad on bad.file_id = parsed.file_id and bad.line_number = parsed.line_number
where len(coalesce(lists.node_names, [null])) > 0
union all by name
select
    file_id, line_number, logged_at, 'site_rule' as kind, node_name, message, rule_pattern,
    case when has_no_year then logged_at end as dated_by_file_at
from slurmctld_others_by_node
where rule_pattern is not null
