{#-
    A text in lower case with # for each number, identifier, date, time and list of numbers, so that texts that differ
    only in these are one. The names of most nodes differ by a number.
-#}
{% macro without_variable_parts(text) -%}
    {%- set one_line = regex_replace_all('lower(trim(' ~ text ~ '))', regex_literal('\\s+'), "' '") -%}
    {%- set without_ids = regex_replace_all(
        one_line,
        regex_literal('\\b(0x[0-9a-f]+|[0-9a-f]{2,}(-[0-9a-f]{2,}){2,}|[0-9a-f]{8,})\\b'),
        "'#'"
    ) -%}
    left({{ regex_replace_all(without_ids, regex_literal('[0-9]+([.,:/-]+[0-9]+)*'), "'#'") }}, 300)
{%- endmacro %}
