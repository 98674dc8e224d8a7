{#- Checks that a site runs once per thing and that name the thing in good and bad results alike. -#}
{% macro checks_with_subjects() -%}
    'service status', 'mounted directory', 'disk usage', 'running process', 'check module', 'check ssh', 'gpumemwatch',
    'gpupciewatch', 'gpunvlinkwatch', 'gpuinforomwatch', 'gpusmwatch', 'gpumcuwatch', 'gpupmuwatch', 'gputhermalwatch',
    'gpupowerwatch'
{%- endmacro %}


{#-
    What such a check looked at: service, directory, volume, process, module, host or GPU. Two checks of one name run side
    by side on a node; without the subject, each good result of one would clear the other's failure.
-#}
{% macro health_check_subject(check_name, message) -%}
    case
        when {{ check_name }} in ({{ checks_with_subjects() }})
            then nullif(
                {{ list_as_text(
                    'array_distinct(regexp_extract_all('
                    ~ message ~ ', '
                    ~ regex_literal(
                        '(?:(?:Service|Directory|Volume|Process|Module|Host|GPU) |service status: |mounted directory )([^\\s:,]+)'
                    )
                    ~ ', 1))',
                    ', '
                ) }},
                ''
            )
    end
{%- endmacro %}


{#- The subject of events that name none. It keeps them apart from the states of a check of the same name. -#}
{% macro subject_of_events() -%}
    '(event)'
{%- endmacro %}
