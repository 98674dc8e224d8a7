-- Lines without a row that counts: a line is loaded if any of its rows is.
create or replace temp table unloaded_lines as
select
    cluster_id, path, line_number,
    coalesce(
        min(disposition) filter (disposition in ({{ ruled_out }})),
        if(bool_or(disposition = 'coalesced'), 'coalesced', 'duplicate')
    ) as outcome
from raw.{{ table }} where disposition <> 'loaded' group by cluster_id, path, line_number;

-- The few files with such rows are known now; rows of other files need no comparison with lines.
delete from unloaded_lines using (
    select cluster_id, path, line_number from raw.{{ table }}
    where disposition = 'loaded' and path in (select path from unloaded_lines)
) as loaded
where loaded.cluster_id = unloaded_lines.cluster_id and loaded.path = unloaded_lines.path
    and loaded.line_number = unloaded_lines.line_number;

delete from ops.skips using (select cluster_id, path from ops.files where kind = {{ kind | literal }}) as files
where files.cluster_id = skips.cluster_id and files.path = skips.path and skips.reason in ('duplicate', 'coalesced');

insert into ops.skips by name
select cluster_id, path, outcome as reason, count(*) as line_count
from unloaded_lines where outcome in ('duplicate', 'coalesced') group by all;

delete from ops.quarantine using (select cluster_id, path from ops.files where kind = {{ kind | literal }}) as files
where files.cluster_id = quarantine.cluster_id and files.path = quarantine.path and quarantine.reason in ({{ ruled_out }})
    and not exists (
        from unloaded_lines where outcome = quarantine.reason and unloaded_lines.cluster_id = quarantine.cluster_id
            and unloaded_lines.path = quarantine.path and unloaded_lines.line_number = quarantine.line_number
    );

create or replace temp table new_places as
select cluster_id, path, line_number, outcome as reason from unloaded_lines where outcome in ({{ ruled_out }})
except
select cluster_id, path, line_number, reason from ops.quarantine where reason in ({{ ruled_out }})
