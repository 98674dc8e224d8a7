-- What failures of one cause show besides it: pairs that are asked for, others seen three times or more.
-- One row per cluster, cause and what is seen with it.
select
    pairs.cluster_id,
    pairs.failure_category,
    coalesce(causes.label, pairs.failure_category) as label,
    pairs.other_category,
    pairs.other_kind,
    coalesce(others.label, pairs.other_category) as other_label,
    pairs.failure_count,
    pairs.both_count,
    pairs.both_ratio
from marts.agg_cooccurrence as pairs
left join marts.dim_failure_categories as causes on pairs.failure_category = causes.failure_category
left join marts.dim_failure_categories as others on pairs.other_category = others.failure_category
where
    (pairs.other_category = 'any other category' and pairs.failure_count >= 5)
    or (
        pairs.failure_category = 'pcie'
        and pairs.other_category in ('xid 79', 'xid 79 with ipmi critical interrupt')
    )
    or (pairs.failure_category = 'ib_link' and pairs.other_category = 'any gpu category')
    or (pairs.other_kind = 'category' and pairs.both_count >= 3)
order by
    pairs.cluster_id,
    pairs.failure_count desc,
    pairs.failure_category,
    pairs.other_kind,
    pairs.both_count desc nulls last,
    pairs.other_category
