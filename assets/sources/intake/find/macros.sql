{# Add lines of versions to the lines skipped as superseded, from a query of cluster_id, path, line_count. #}
{% macro skip_superseded(counts) %}
create or replace temp table superseded_counts as
select cluster_id, path, sum(line_count)::bigint as line_count
from (
    {{ counts }}
    union all
    select cluster_id, path, line_count from ops.skips where reason = 'superseded'
)
group by all;
delete from ops.skips where reason = 'superseded';
insert into ops.skips by name
select *, 'superseded' as reason from superseded_counts where line_count > 0;
{% endmacro %}
