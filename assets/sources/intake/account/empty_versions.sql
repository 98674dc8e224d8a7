{# Versions without rows whose time another version covers, or a file that states what they stated. #}
with empty as (
    select *, (cluster_id, path) in (select (cluster_id, path) from superseded_lines) as is_stated
    from versions anti join (select distinct cluster_id, path from raw.{{ table }}) using (cluster_id, path)
),
others as (
    select files.*, empty.path is not null as is_empty
    from ops.files left join empty using (cluster_id, path)
    where kind = {{ kind | literal }} and status in ({{ read | literal }}, {{ cut_off | literal }})
)
select cluster_id, path from empty where first_at is null
union
select empty.cluster_id, empty.path
from empty inner join others
    on others.cluster_id = empty.cluster_id and others.path <> empty.path
    and others.first_at <= empty.first_at and others.last_at >= empty.last_at
where (empty.is_stated or coalesce(others.version_of, others.path) = empty.version_of)
    and (not others.is_empty or others.path > empty.path)
