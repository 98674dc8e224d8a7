{#- Texts and patterns. -#}


{#- A pattern found anywhere in a text. -#}
{% macro regex_matches(text, pattern) -%}
    {{ adapter.dispatch('regex_matches', 'faultline')(text, pattern) }}
{%- endmacro %}

{% macro default__regex_matches(text, pattern) -%}
    regexp_matches({{ text }}, {{ pattern }})
{%- endmacro %}

{% macro spark__regex_matches(text, pattern) -%}
    regexp_like({{ text }}, {{ pattern }})
{%- endmacro %}


{#- A pattern as a literal: Spark reads a backslash in plain quotes as an escape. -#}
{% macro regex_literal(text) -%}
    {{ adapter.dispatch('regex_literal', 'faultline')(text) }}
{%- endmacro %}

{% macro default__regex_literal(text) -%}
    '{{ text | replace("'", "''") }}'
{%- endmacro %}

{#- A raw literal has no escapes. No pattern has both kinds of quotes. -#}
{% macro spark__regex_literal(text) -%}
    {%- set quote = '"' if "'" in text else "'" -%}
    r{{ quote }}{{ text }}{{ quote }}
{%- endmacro %}


{#- Replace every match of a pattern by a text. -#}
{% macro regex_replace_all(text, pattern, replacement) -%}
    {{ adapter.dispatch('regex_replace_all', 'faultline')(text, pattern, replacement) }}
{%- endmacro %}

{% macro default__regex_replace_all(text, pattern, replacement) -%}
    regexp_replace({{ text }}, {{ pattern }}, {{ replacement }}, 'g')
{%- endmacro %}

{% macro spark__regex_replace_all(text, pattern, replacement) -%}
    regexp_replace({{ text }}, {{ pattern }}, {{ replacement }})
{%- endmacro %}


{#- Objects with the given fields from a JSON list; `fields` is a list of [name, boolean, date, integer or string]. -#}
{% macro objects_in_json(json, fields) -%}
    {{ adapter.dispatch('objects_in_json', 'faultline')(json, fields) }}
{%- endmacro %}

{% macro default__objects_in_json(json, fields) -%}
    {%- set types = {
        'boolean': 'BOOLEAN', 'date': 'DATE', 'integer': 'INTEGER', 'string': 'VARCHAR', 'timestamp': 'TIMESTAMP'
    } -%}
    {%- set shape = [] -%}
    {%- for name, type in fields %}{% do shape.append('"' ~ name ~ '": "' ~ types[type] ~ '"') %}{% endfor -%}
    from_json({{ json }}, '[{ {{- shape | join(', ') -}} }]')
{%- endmacro %}

{% macro spark__objects_in_json(json, fields) -%}
    {%- set shape = [] -%}
    {%- for name, type in fields %}{% do shape.append(name ~ ': ' ~ type) %}{% endfor -%}
    from_json({{ json }}, 'array<struct<{{ shape | join(', ') }}>>')
{%- endmacro %}


{#- A site's pattern, which ignores case, found anywhere in a text. -#}
{% macro site_pattern_matches(text, pattern) -%}
    {{ regex_matches(text, "'(?i)' || " ~ pattern) }}
{%- endmacro %}
