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
    '{{ text }}'
{%- endmacro %}

{% macro spark__regex_literal(text) -%}
    r'{{ text }}'
{%- endmacro %}


{#- Objects of a date and a text, out of a JSON list. -#}
{% macro notes_in_json(json) -%}
    {{ adapter.dispatch('notes_in_json', 'faultline')(json) }}
{%- endmacro %}

{% macro default__notes_in_json(json) -%}
    from_json({{ json }}, '[{"at": "DATE", "text": "VARCHAR"}]')
{%- endmacro %}

{% macro spark__notes_in_json(json) -%}
    from_json({{ json }}, 'array<struct<at: date, text: string>>')
{%- endmacro %}
