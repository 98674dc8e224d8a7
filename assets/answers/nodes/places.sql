-- Failure statistics of places: first places that stand out, by how often they fail, then kinds of places by the share
-- of common causes. `is_said` omits places with the same nodes as an earlier one. One row per place or kind of place.
with known as (
    select
        *,
        case place_kind
            when 'nvlink_domain' then 'NVLink domain'
            when 'position' then 'position in the rack'
            when 'gpu_model' then 'GPU model'
            else place_kind
        end as kind_name,
        list_position(['rack', 'switch', 'nvlink_domain', 'position', 'gpu_model'], place_kind) as kind_number,
        place is not null
        and has_enough_data is not false
        and verdict in ('fails more', 'both', 'fails together') as is_found,
        median(detectable_effect) filter (where place is not null) over (partition by cluster_id) as median_effect
    from estimates.est_location_rates
),

ordered as (
    select
        *,
        row_number() over (
            partition by cluster_id
            order by
                place is null, is_found desc, is_found and verdict = 'fails together',
                if(place is null, common_cause_share_low, coalesce(nullif(ratio, 0), low, 0)) desc nulls last,
                kind_number, place
        ) as place_number
    from known
)

select
    *,
    is_found and not exists (
        select 1
        from ordered as earlier
        where
            earlier.cluster_id = ordered.cluster_id
            and earlier.is_found
            and earlier.place_number < ordered.place_number
            and list_contains(
                string_split(ordered.same_nodes_as, '; '), concat(earlier.place_kind, ' ', earlier.place)
            )
    ) as is_said
from ordered
order by cluster_id, place_number
