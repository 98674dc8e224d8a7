{% import "sources/intake/account/macros.sql" as m %}
{# Records of versions that the file also states now, and records without an end that another version states with one. A
   record with an end is never replaced by one without. #}
insert into superseded_rows
with files_with_versions as (
    select distinct cluster_id, version_of as base_path from versions
),
records as (
    select
        kept.*, kept.rowid as row_key, {{ is_open }} as is_open,
        coalesce(files.version_of, files.path) as base_path, files.version_of is null as is_newest
    from raw.{{ table }} as kept
    inner join ops.files on files.cluster_id = kept.cluster_id and files.path = kept.path
    where (files.cluster_id, coalesce(files.version_of, files.path)) in (from files_with_versions)
        and files.dialect not in ({{ logs }})
),
newer as (from records where {{ m.is_whole() }})
select distinct unnest(case
    when newer.is_newest and (older.is_open or not newer.is_open) then [older.row_key]
    when newer.is_open and not older.is_open and not newer.is_newest then [newer.row_key]
    else []
end) as row_key
from records as older inner join newer using (cluster_id, base_path, {{ key | join(", ") }})
where older.path <> newer.path and not older.is_newest and {{ is_same }}
