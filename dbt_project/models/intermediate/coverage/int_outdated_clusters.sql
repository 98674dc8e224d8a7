with

pulls as (

    select * from {{ ref('stg_ops__pulls') }}
    where status = 'failed'

),

files as (

    select * from {{ ref('stg_ops__files') }}
    where kind = 'sacct'

),

read_versions as (

    select * from files
    where
        version_of is not null
        and status != 'refused'

),

unread as (

    select * from files
    where
        is_present
        and status in ('refused', 'cut_off')

),

-- A file may have several older versions; it is told of once.
ended as (

    select
        unread.cluster_id,
        unread.path || ': ' || unread.reason || '; older versions of it count' as reason,
        max(read_versions.last_at) as noted_at
    from unread
    inner join read_versions
        on
            unread.cluster_id = read_versions.cluster_id
            and unread.path = read_versions.version_of
    group by unread.cluster_id, unread.path, unread.reason

),

ended_clusters as (

    select
        cluster_id,
        {{ list_as_text(sorted_list('reason'), '; ') }} as reason,
        max(noted_at) as noted_at
    from ended
    group by cluster_id

)

select
    cluster_id,
    'its logs could not be fetched from Slurm: ' || reason as reason,
    pulled_to_at,
    ended_at as noted_at
from pulls
union all
select
    ended_clusters.cluster_id,
    ended_clusters.reason,
    cast(null as timestamp) as pulled_to_at,
    ended_clusters.noted_at
from ended_clusters
left join pulls on ended_clusters.cluster_id = pulls.cluster_id
where pulls.cluster_id is null
