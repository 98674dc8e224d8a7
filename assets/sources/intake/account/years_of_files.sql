{# The first and the last moments of files; some of their lines may have a year. #}
update ops.files set first_at = settled.first_at, last_at = settled.last_at
from (
    select
        cluster_id, path,
        least(min(settled_at), min(others_first_at)) as first_at,
        greatest(max(settled_at), max(others_last_at)) as last_at
    from (
        select *, case when years_back = 0 then moment else {{ utc }} end as settled_at
        from (
            select *, {{ local }} - to_years(years_back) as local_time
            from (
                select years.* exclude (first_at, last_at), unnest([first_at, last_at]) as moment
                from ops.years semi join (from settled_years where zone = {{ zone | literal }}) as settled
                    using (cluster_id, path)
            )
        )
    )
    group by cluster_id, path
    having first_at is not null
) as settled
where settled.cluster_id = files.cluster_id and settled.path = files.path
