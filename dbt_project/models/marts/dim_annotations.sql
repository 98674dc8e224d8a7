with

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

notes as (

    select
        cluster_id,
        {{ unnest_list(objects_in_json('annotations', [('at', 'date'), ('text', 'string')])) }} as note
    from clusters

)

select
    cluster_id,
    cast(row_number() over (
        partition by cluster_id
        order by note.at, note.text
    ) as integer) as annotation_number,
    note.at as annotated_date,
    note.text as annotation
from notes
