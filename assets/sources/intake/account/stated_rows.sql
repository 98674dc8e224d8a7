{% import "sources/intake/account/macros.sql" as m %}
{# Rows of versions that another file states at least as often; of two versions, the later one by name. #}
create or replace temp table rows_of_versions as
select rowid as row_key, cluster_id, path, line_number, {{ time }} as stated_at, {{ content }} as content
from raw.{{ table }}
semi join versions using (cluster_id, path)
where rowid not in (select row_key from superseded_rows);

insert into superseded_rows
with stated as (
    select cluster_id, path, {{ content }} as content, count(*) as row_count
    from raw.{{ table }}
    where (cluster_id, {{ time }}) in (select (cluster_id, stated_at) from rows_of_versions)
        and rowid not in (select row_key from superseded_rows) and {{ m.is_whole() }}
    group by all
),
older as (select cluster_id, path, content, count(*) as row_count from rows_of_versions group by all),
found as (
    select distinct older.cluster_id, older.path, older.content
    from older inner join stated using (cluster_id, content)
    left join versions as others on others.cluster_id = stated.cluster_id and others.path = stated.path
    where stated.path <> older.path and (
        stated.row_count > older.row_count
        or stated.row_count = older.row_count and (others.path is null or others.path > older.path)
    )
)
select row_key from rows_of_versions semi join found using (cluster_id, path, content)
