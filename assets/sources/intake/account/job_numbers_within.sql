with numbers as (
    select *, unused + 1 as given, from_at < {{ to_at }} and to_at > {{ from_at }} as is_within from job_numbers
),
days as (
    select sum(unused) / sum(given) as share from numbers where not is_within group by from_at::date
)
select
    coalesce(sum(unused) filter (is_within), 0),
    coalesce(sum(given) filter (is_within), 0),
    coalesce((select median(share) from days), 0),
    coalesce(
        (1 + count(*)) * epoch({{ to_at }} - {{ from_at }})
        / nullif(abs(epoch(max(to_at) - min(from_at)) - epoch({{ to_at }} - {{ from_at }})), 0),
        'infinity'
    )
from numbers
