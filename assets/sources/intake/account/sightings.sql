insert into raw.sightings by name
from (
    -- A check that could not run saw nothing.
    select batch_files.cluster_id, batch_files.path, node_name, {{ time }}::date as day_date
    from raw.{{ table }} as kept
    inner join batch_files on batch_files.path = kept.path and batch_files.cluster_id = kept.cluster_id
    {% if kind == "health" %}
    where result_quality = 'ran'
    {% endif %}
    union
    select batch_files.cluster_id, batch_files.path, node_name, stated_at::date
    from stated_times
    inner join batch_files using (file_id)
    left join sampled_lines using (file_id, line_number)
    where node_name is not null and {% if is_sampled %}weight > 0{% else %}coalesce(weight > 0, true){% endif %}
)
