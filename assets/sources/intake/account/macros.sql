{# Replace the warnings of a name in `ops.files` with those in `new_warnings` (cluster_id, path, warning). #}
{% macro replace_warnings(name) %}
update ops.files set warnings = replaced.warnings
from (
    select
        files.cluster_id, files.path,
        list_sort(
            list_filter(files.warnings, lambda warning: split_part(warning, ':', 1) <> {{ name | literal }})
            || if(found.warning is null, [], [found.warning])
        ) as warnings
    from ops.files left join new_warnings as found using (cluster_id, path)
) as replaced
where replaced.cluster_id = files.cluster_id and replaced.path = files.path
    and replaced.warnings <> list_sort(files.warnings)
{% endmacro %}

{# Files with too many quarantined lines, with the reason. These do not show another format: a node that is not in the
   inventory, a line that a running writer cut off, a time before the clock was set or after it, and bytes that are not
   text. #}
{% macro doubtful_files() %}
with bad as (
    select
        cluster_id, path, count(distinct line_number) as bad_count,
        min_by(
            concat('line ', line_number, ' ', reason, coalesce(' ' || left(nullif(detail, ''), 120), '')), line_number
        ) as first_line
    from ops.quarantine
    where reason not in ('unknown_node', 'truncated_record', 'no_event_time', 'not_text', 'timestamp_in_future')
    group by all
),
not_data as (
    select cluster_id, path, sum(line_count) as line_count
    from ops.skips where reason in ('header', 'blank', 'comment', 'step', 'pending_array')
    group by all
),
counted as (
    select
        files.cluster_id, files.path, bad_count, first_line,
        files.lines_in - coalesce(not_data.line_count, 0) as data_count,
        coalesce(clusters.quarantine_max_share, 0.01) as max_share
    from ops.files
    inner join bad using (cluster_id, path)
    left join not_data using (cluster_id, path)
    left join raw.clusters as clusters using (cluster_id)
)
select
    cluster_id, path,
    concat(
        bad_count, ' of ', data_count, ' lines quarantined (', round(100 * bad_count / greatest(data_count, 1), 1),
        '% > ', round(100 * max_share, 2), '%), first: ', first_line
    ) as reason
from counted
where bad_count > greatest(1, max_share * data_count)
{% endmacro %}

{# Whether a row is not from a last line without an end: its version drops such a line, so it states nothing. #}
{% macro is_whole() %}
(cluster_id, path, line_number)
    not in (select (cluster_id, path, open_line) from ops.files where open_line is not null)
{% endmacro %}
