{#-
    Keys of health checks. Each is one number made of the texts it stands for: it takes no lookup to know it, it means the
    same each night, and millions of rows that carry it are quick to sort and to join.
-#}

{#- A stream: the results that tell of one subject of a check on a node. -#}
{% macro stream_key() -%}
    {{ hash_columns(['cluster_id', 'node_id', 'check_stream', 'subject']) }}
{%- endmacro %}


{#- What a bad result says. Its message counts where rules of messages give it a meaning. -#}
{% macro finding_key() -%}
    {{ hash_columns(['cluster_id', 'check_name', 'check_type', 'result', 'xid_codes', 'telling_message']) }}
{%- endmacro %}


{#- A text as it was logged. -#}
{% macro message_key(text) -%}
    {{ hash_columns([text]) }}
{%- endmacro %}


{% macro file_key(path) -%}
    {{ hash_columns([path]) }}
{%- endmacro %}
