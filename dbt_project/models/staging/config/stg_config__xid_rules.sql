with

clusters as (

    select * from {{ source_table('raw', 'clusters') }}

)

{{ rules_of_clusters('clusters', 'xid_rules', [
    ('code', 'integer'),
    ('failure_category', 'string'),
    ('severity', 'string'),
    ('evidence_class', 'string')
]) }}
