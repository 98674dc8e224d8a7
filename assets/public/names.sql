-- Public names of clusters and accounts. Each export numbers accounts at random again, because an order by name or by
-- losses would reveal both.
create temp table public_names as
select
    cluster_id,
    cast(null as varchar) as account,
    'cluster-' || row_number() over (order by first_at, random()) as public_name
from marts.dim_clusters
union all
select
    cluster_id,
    part as account,
    'account-' || row_number() over (partition by cluster_id order by random()) as public_name
from public_cells
where kind = 'losses' and split = 'account' and part is not null and is_shown
