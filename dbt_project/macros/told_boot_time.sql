{#- Boot time of a node in a line of the controller, which prints the time or how long ago it was; else NULL. -#}
{% macro told_boot_time() -%}
    coalesce(
            {{ timestamp_of_epoch(
                "cast(nullif(regexp_extract(message, " ~ regex_literal('boot_time=(\\d+)') ~ ", 1), '') as bigint)"
            ) }},
            logged_at - {{ seconds_interval(
                "cast(nullif(regexp_extract(message, " ~ regex_literal('rebooted (\\d+) secs? ago')
                ~ ", 1), '') as bigint)"
            ) }}
        )
{%- endmacro %}
