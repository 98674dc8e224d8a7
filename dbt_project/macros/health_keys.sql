{#-
    Keys of health checks. Each is a hash of its texts: it needs no lookup, is stable between refreshes, and sorts and
    joins millions of rows fast.
-#}

{#- A stream: the results for one subject of a check on a node. -#}
{% macro stream_key() -%}
    {{ hash_columns(['cluster_id', 'node_id', 'check_stream', 'subject']) }}
{%- endmacro %}


{#- A finding: the content of a bad result. Its message counts if rules give it a meaning. -#}
{% macro finding_key() -%}
    {{ hash_columns(['cluster_id', 'check_name', 'check_type', 'result', 'xid_codes', 'telling_message']) }}
{%- endmacro %}


{#- A text as logged. -#}
{% macro message_key(text) -%}
    {{ hash_columns([text]) }}
{%- endmacro %}


{% macro file_key(path) -%}
    {{ hash_columns([path]) }}
{%- endmacro %}
