{#- Best source among the rows of one outage. -#}
{% macro best_source_of_outage() -%}
    case
        when bool_or(source = 'sacctmgr') then 'sacctmgr'
        when bool_or(source = 'slurmctld') then 'slurmctld'
        when bool_or(source = 'inventory') then 'inventory'
        else 'failures'
    end
{%- endmacro %}
