create or replace temp table versions as
with news as (
    select cluster_id, path, coalesce(version_of, path) as base_path, first_at, last_at
    from ops.files semi join ops.unsettled_files using (cluster_id, path)
    where kind = {{ kind | literal }} and status <> {{ refused | literal }}
)
select
    files.cluster_id, files.path, files.version_of, files.dialect, files.first_at, files.last_at, files.lines_in,
    bool_or(news.path = files.path) as is_new,
    bool_or(news.base_path = files.version_of) as is_of_news,
    bool_or(coalesce(news.first_at <= files.last_at and news.last_at >= files.first_at, true)) as is_near
from ops.files inner join news using (cluster_id)
where files.kind = {{ kind | literal }} and files.version_of is not null
group by all
