{% macro may_fit_others() -%}
    {% if site_pattern %}regexp_matches(line, {{ site_pattern | literal }}){% else %}false{% endif %}
    or (line[1] = '{' and (not json_valid(line) or regexp_matches(line, '"MESSAGE"\s*:\s*\[')))
{%- endmacro %}
-- A message that journalctl gives as bytes is always examined. Lines that only have the weight of an error are matched
-- with no rule. For sampled lines only time and host matter.
create or replace temp table kernel_candidates as
with found as materialized (
    select file_id, line_number, line
    from lines
    where regexp_matches(line, {{ pattern_with_weight | literal }}) or {{ may_fit_others() }}
)
select *, regexp_matches(line, {{ pattern | literal }}) or {{ may_fit_others() }} as is_relevant from found
union all
select file_id, line_number, line, false as is_relevant
from sampled_lines anti join found using (file_id, line_number)
