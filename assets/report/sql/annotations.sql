-- What a site noted down for a day. One row per cluster and note.
select * from marts.dim_annotations
order by cluster_id, annotated_date, annotation_number
