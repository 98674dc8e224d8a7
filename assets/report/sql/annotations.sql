-- What a site noted down for a day. One row per cluster and note.
select
    cluster_id,
    annotation_number,
    annotated_date,
    annotation
from marts.dim_annotations
order by cluster_id, annotated_date, annotation_number
