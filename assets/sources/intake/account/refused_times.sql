with good as (
    select cluster_id, kind, coalesce(version_of, path) as path, max(last_at) as last_at
    from ops.files where status in ('read', 'cut_off') group by all
),
stated as (
    select
        files.cluster_id, files.kind, files.path,
        coalesce(stated.from_at, files.first_at, {{ named_moment }}) as from_at,
        coalesce(stated.to_at, files.last_at, {{ named_end }}) as to_at
    from ops.files
    left join raw.manifests as stated
        on stated.cluster_id = files.cluster_id and stated.log_path = files.path
        and stated.disposition = 'loaded'
    where files.status not in ('read', 'cut_off') and files.version_of is null
)
select
    stated.cluster_id, stated.kind, greatest(stated.from_at, good.last_at) as missing_from_at,
    coalesce(stated.to_at, timestamp 'infinity') as missing_to_at
from stated
left join good on good.cluster_id = stated.cluster_id and good.path = stated.path
left join (
    select cluster_id, kind, max_by(path, last_at) as path, max(last_at) as last_at from good group by all
) as newest on newest.cluster_id = stated.cluster_id and newest.kind = stated.kind
where missing_from_at is not null and (stated.from_at is not null or newest.last_at <= good.last_at)
order by all
