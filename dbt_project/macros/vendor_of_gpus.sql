{#- Vendor other than NVIDIA that a GPU model or type, or the name of a check, indicates. -#}
{% macro vendor_of_gpus(text) -%}
    case
        when {{ regex_matches('lower(' ~ text ~ ')', regex_literal(
            '(^|[^a-z0-9])(mi[0-9]{2,3}[a-z]?|amd|rocm|rccl|instinct|radeon|gfx[0-9]+|amdgpu)([^a-z0-9]|$)'
        )) }}
            then 'amd'
        when {{ regex_matches('lower(' ~ text ~ ')', regex_literal(
            '(^|[^a-z0-9])(hpu|hl|gaudi[0-9]*|habana[a-z]*|intel)([^a-z0-9]|$)'
        )) }}
            then 'intel'
    end
{%- endmacro %}
