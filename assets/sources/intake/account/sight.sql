{# Outside a silence of g days, a node logged on n days, a share p. By chance such a node is silent for that long with a
   probability of at most n (1 - p)^g. #}
{% macro is_chance() %}
(
    silent_days <= 0
    or day_count * power(1 - least(day_count, span_days - silent_days) / (span_days - silent_days + 1), silent_days)
        > {{ chance }}
)
{% endmacro %}
insert into ops.sight by name
with covered_days as (
    select distinct
        cluster_id,
        kind,
        unnest(generate_series(
            from_at::date, if(known_by = 'log', to_at, to_at - interval 1 second)::date, interval 1 day
        ))::date as day_date
    from ops.spans
    where kind in ('health', 'kernel', 'events', 'slurmctld')
),
nodes as (select distinct cluster_id, node_id from raw.node_names),
named as (
    select
        cluster_id, name_as_seen, node_id,
        date {{ first_date | literal }} as from_date, date {{ last_date | literal }} as to_date
    from raw.node_names
    union all
    select cluster_id, name_as_seen, node_id, from_at::date, to_at::date from raw.host_names
),
files as (
    select files.cluster_id, files.kind, files.path, stated.from_at, stated.to_at
    from ops.files
    left join raw.manifests as stated
        on stated.cluster_id = files.cluster_id and stated.log_path = files.path and stated.disposition = 'loaded'
            and files.status = {{ read | literal }}
    where files.kind in ('health', 'kernel') and files.status in ({{ read | literal }}, {{ cut_off | literal }})
),
sightings as (
    select
        sightings.cluster_id, files.kind, files.path, named.node_id,
        (sightings.day_date - to_years(coalesce(years_back, 0)))::date as day_date
    from raw.sightings
    inner join files using (cluster_id, path)
    left join ops.years using (cluster_id, path)
    inner join named
        on named.cluster_id = sightings.cluster_id and named.name_as_seen = sightings.node_name
        and (sightings.day_date - to_years(coalesce(years_back, 0)))::date between named.from_date and named.to_date
),
selections as (
    select cluster_id, path, kind
    from sightings
    anti join (from ops.skips where reason in ('not_relevant', 'untrusted_source')) as skips
        using (cluster_id, path)
    where kind = 'kernel'
    group by all
    having count(distinct node_id) > 1 or not bool_or(contains(lower(path), node_id))
),
in_files as (
    select
        cluster_id, kind, node_id, path,
        min(day_date) as first_date, max(day_date) as last_date, count(*) as day_count
    from (
        select cluster_id, kind, path, node_id, day_date from sightings
        union all
        select cluster_id, kind, path, nodes.node_id, day_date
        from (
            select distinct cluster_id, kind, path, day_date
            from sightings semi join selections using (cluster_id, path)
        )
        inner join nodes using (cluster_id)
    )
    group by all
),
stated as (
    select
        in_files.cluster_id,
        in_files.kind,
        in_files.node_id,
        least(first_date, from_at::date) as first_date,
        greatest(last_date, (to_at - interval 1 second)::date) as last_date,
        day_count
    from in_files
    inner join files using (cluster_id, path)
),
ordered as (
    select
        *,
        sum(day_count) over of_node as day_count_of_node,
        max(last_date) over (
            of_node order by first_date, last_date rows between unbounded preceding and 1 preceding
        ) as before_date
    from stated
    window of_node as (partition by cluster_id, kind, node_id)
),
spans as (
    select cluster_id, kind, min(day_date) as from_date, max(day_date) as to_date
    from covered_days
    group by all
),
judged as (
    select *, {{ is_chance() }} as is_chance
    from (
        select
            ordered.* exclude (day_count) rename (day_count_of_node as day_count),
            spans.from_date,
            spans.to_date,
            spans.to_date - spans.from_date + 1 as span_days,
            first_date - before_date - 1 as silent_days
        from ordered
        inner join spans using (cluster_id, kind)
    )
),
numbered as (
    select *, sum((not coalesce(is_chance, true))::integer) over (
        partition by cluster_id, kind, node_id order by first_date, last_date
    ) as stretch
    from judged
),
stretches as (
    select
        *,
        stretch = min(stretch) over of_node as is_first,
        stretch = max(stretch) over of_node as is_last
    from (
        select
            cluster_id, kind, node_id, day_count, span_days, from_date, to_date, stretch,
            min(first_date) as first_date, max(last_date) as last_date
        from numbered
        group by all
    )
    window of_node as (partition by cluster_id, kind, node_id)
),
opened as (
    select * replace (if(is_first and {{ is_chance() }}, least(first_date, from_date), first_date) as first_date)
    from (select *, first_date - from_date as silent_days from stretches)
),
closed as (
    select * replace (if(is_last and {{ is_chance() }}, greatest(last_date, to_date), last_date) as last_date)
    from (select * replace (to_date - last_date as silent_days) from opened)
),
node_days as (
    select
        cluster_id, node_id, kind, unnest(generate_series(first_date, last_date, interval 1 day))::date as day_date
    from closed
)
select cluster_id, node_id, kind, day_date from node_days semi join covered_days using (cluster_id, kind, day_date)
union all
-- What a file shows is seen, even if another file of its kind is missing.
select cluster_id, node_id, kind, day_date
from (from node_days anti join covered_days using (cluster_id, kind, day_date)) as others
semi join stated
    on
        stated.cluster_id = others.cluster_id and stated.kind = others.kind and stated.node_id = others.node_id
        and others.day_date between stated.first_date and stated.last_date
anti join (from ops.spans where known_by = 'cluster.toml') as declared
    on declared.cluster_id = others.cluster_id and declared.kind = others.kind
union all
select cluster_id, node_id, kind, day_date
from nodes
inner join covered_days using (cluster_id)
where kind in ('events', 'slurmctld')
