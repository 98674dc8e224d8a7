{% import "sources/intake/account/macros.sql" as m %}
{# Versions of exports that the file which is there now covers: its span, and nearly all of its records. #}
{% set keys = key | join(", ") %}
with reached as (
    select versions.cluster_id, versions.path, files.path as newer_path
    from versions
    inner join ops.files on files.cluster_id = versions.cluster_id and files.path = versions.version_of
    where files.is_present and files.status = {{ read | literal }} and versions.is_of_news
        and versions.dialect not in ({{ logs }}) and files.dialect not in ({{ logs }})
        and coalesce(files.first_at <= versions.first_at and files.last_at >= versions.last_at, false)
),
doubtful as (select cluster_id, path as newer_path from ({{ m.doubtful_files() }})),
older as (
    select distinct reached.cluster_id, reached.path, reached.newer_path, {{ keys }}
    from raw.{{ table }}
    inner join (from reached anti join doubtful using (cluster_id, newer_path)) as reached using (cluster_id, path)
),
newer as (
    select distinct cluster_id, path as newer_path, {{ keys }}, true as is_there
    from raw.{{ table }}
    where (cluster_id, path) in (select (cluster_id, newer_path) from reached) and {{ m.is_whole() }}
)
select cluster_id, path
from older left join newer using (cluster_id, newer_path, {{ keys }})
group by cluster_id, path
having count(is_there) >= {{ covered_share }} * count(*)
