{# Delete what was read of the lines that are to be read again, and the account of the file in `read_earlier`. #}
{% for table in ("raw." ~ table, "raw.unknown_lines", "ops.quarantine") %}
delete from {{ table }} using read_earlier as earlier
where {{ table }}.cluster_id = earlier.cluster_id and {{ table }}.path = earlier.path
    and {{ table }}.line_number >= earlier.line_number
    and not list_contains(earlier.left_out, {{ table }}.line_number);
{% endfor %}
{% for table in ("ops.files", "ops.skips", "ops.resume_points") %}
delete from {{ table }} using read_earlier as earlier
where {{ table }}.cluster_id = earlier.cluster_id and {{ table }}.path = earlier.path;
{% endfor %}
