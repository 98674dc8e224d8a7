with

pulls as (

    select * from {{ ref('stg_ops__pulls') }}
    where status = 'failed'

),

files as (

    select * from {{ ref('stg_ops__files') }}
    where kind = 'sacct'

),

-- A file may have several older versions. Report it once.
ended as (

    select
        files.cluster_id,
        files.path || ': ' || files.reason || '; older versions of it count' as reason,
        max(versions.last_at) as noted_at
    from files
    inner join files as versions
        on
            files.cluster_id = versions.cluster_id
            and files.path = versions.version_of
    where
        files.is_present
        and files.status in ('refused', 'cut_off')
        and versions.status != 'refused'
    group by files.cluster_id, files.path, files.reason

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
