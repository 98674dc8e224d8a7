{#- Checks that a site runs once per object, and that name the object in good and bad results. -#}
{% macro checks_with_subjects() -%}
    'service status', 'mounted directory', 'disk usage', 'running process', 'check module', 'check ssh', 'gpumemwatch',
    'gpupciewatch', 'gpunvlinkwatch', 'gpuinforomwatch', 'gpusmwatch', 'gpumcuwatch', 'gpupmuwatch', 'gputhermalwatch',
    'gpupowerwatch'
{%- endmacro %}


{#-
    Object of such a check: service, directory, volume, process, module, host or GPU. A node runs several checks of one
    name; without the subject, a good result of one would clear another's failure.
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


{#- Subject of events without one. It separates them from the states of a check of the same name. -#}
{% macro subject_of_events() -%}
    '(event)'
{%- endmacro %}
