{# A count may be printed as 1.50K (of 1024). A negative count is NULL. -#}
{% macro count_of(text) -%}
try_cast(coalesce(try_cast({{ text }} as uinteger), case
    when ends_with({{ text }}, 'K')
        then try_cast(round(try_cast(rtrim({{ text }}, 'K') as double) * 1024) as uinteger)
    when ends_with({{ text }}, 'M')
        then try_cast(round(try_cast(rtrim({{ text }}, 'M') as double) * 1048576) as uinteger)
end) as integer)
{%- endmacro %}

{# A number of nodes; NULL if no machine has so many. -#}
{% macro node_count_of(text, maximum) -%}
case when {{ count_of(text) }} <= {{ maximum }} then {{ count_of(text) }} end
{%- endmacro %}

{# The exit code (place 1) or signal (2) of a text like 1:0; nearly all are 0:0. Up to 25.05 sacct prints a code above
128 minus 128, so 143 as 15. The same is done to later prints. -#}
{% macro code_of(text, place) -%}
{% set number = "try_cast(split_part(" ~ text ~ ", ':', " ~ place ~ ") as integer)" -%}
case when {{ text }} = '0:0' then 0
    {%- if place == 1 %} when {{ number }} > 128 then {{ number }} - 128{% endif %} else {{ number }} end
{%- endmacro %}

{# The number of a job: JobIDRaw, else JobID if that is a number. An export without JobIDRaw lacks the number of an
array task or of a part of a heterogeneous job. These get a number made from their id, beyond any that Slurm gives.
DuckDB itself reads `70_1` as 701. -#}
{% macro job_number(raw, shown, largest_id) -%}
coalesce(
    {{ plain_number(raw) }},
    {{ plain_number(shown) }},
    (case
        when regexp_full_match({{ shown }}, '\d+([_+]\d+)+')
            then {{ largest_id }} + md5_number_lower({{ shown }}) % {{ largest_id }}
    end)::bigint
)
{%- endmacro %}

{# The most frequent form is tested first, in a fraction of the time. -#}
{% macro plain_number(text) -%}
case
    when try_cast({{ text }} as bigint) >= 0 and try_cast({{ text }} as bigint)::varchar = {{ text }}
        or ltrim({{ text }}, '0123456789') = ''
        then try_cast({{ text }} as bigint)
end
{%- endmacro %}

{# A lookup of distinct values, or a row of NULL if it is empty: setting up a join costs time for every batch.
-#}
{% macro join_lookup(is_empty, table, alias, text, nothing) -%}
{% if is_empty %}cross join (select {{ nothing }}) as {{ alias }}
{%- else %}left join {{ table }} as {{ alias }} on {{ alias }}.text = {{ text }}
{%- endif %}
{%- endmacro %}
