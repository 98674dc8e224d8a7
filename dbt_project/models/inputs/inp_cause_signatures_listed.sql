with checks as (
    select distinct
        cluster_id,
        failure_category,
        lower(trim(check_name)) as check_key
    from {{ ref('agg_check_introductions') }}
    where source = 'health_check'
),

xids as (
    select unnest([failure_category, co_category]) as failure_category
    from {{ ref('xids') }}
    where evidence_class != 'none' or fatal_evidence_class != 'none'
)

select
    null as cluster_id,
    1 as kind,
    nullif(vendor, '') as gpu_vendor,
    unnest([failure_category, co_category]) as failure_category,
    false as repeats_kernel
from {{ ref('kernel_rules') }}
where is_event and evidence_class != 'none'
union
select
    null as cluster_id,
    1 as kind,
    'nvidia' as gpu_vendor,
    failure_category,
    false as repeats_kernel
from xids
union
select
    cluster_id,
    1 as kind,
    'nvidia' as gpu_vendor,
    failure_category,
    false as repeats_kernel
from {{ ref('stg_config__rules') }}
where kind = 'xid'
union
select
    cluster_id,
    1 as kind,
    null as gpu_vendor,
    failure_category,
    false as repeats_kernel
from {{ ref('stg_config__rules') }}
where kind = 'kernel'
union
select
    cluster_id,
    2 as kind,
    null as gpu_vendor,
    failure_category,
    check_key = 'xid errors' as repeats_kernel
from checks
union
select
    checks.cluster_id,
    2 as kind,
    null as gpu_vendor,
    rules.failure_category,
    checks.check_key = 'xid errors' as repeats_kernel
from checks
inner join {{ ref('health_check_rules') }} as rules using (check_key)
where rules.evidence_class != 'none'
union
select
    checks.cluster_id,
    2 as kind,
    'nvidia' as gpu_vendor,
    xids.failure_category,
    true as repeats_kernel
from checks
cross join xids
where checks.check_key = 'xid errors'
union
select
    null as cluster_id,
    4 as kind,
    null as gpu_vendor,
    failure_category,
    false as repeats_kernel
from {{ ref('node_reason_rules') }}
where evidence_class != 'none'
union
select
    cluster_id,
    4 as kind,
    null as gpu_vendor,
    failure_category,
    false as repeats_kernel
from {{ ref('stg_config__rules') }}
where kind = 'node_reason'
union
-- A cause that was found could be seen.
select
    failures.cluster_id,
    case events.source when 'kernel' then 1 when 'health_check' then 2 else 4 end as kind,
    null as gpu_vendor,
    failures.failure_category,
    lower(trim(events.check_name)) = 'xid errors' as repeats_kernel
from {{ ref('fct_failures') }} as failures
inner join {{ ref('fct_health_events') }} as events
    on failures.cluster_id = events.cluster_id and failures.primary_event_id = events.event_id
