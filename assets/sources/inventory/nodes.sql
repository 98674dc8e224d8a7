{# More than any machine has: a thousand times the memory, and ten times the GPUs or slices of GPUs. #}
{% set max_memory_mib, max_gpus = 2 ** 40, 1024 %}
{# A fact of a node by its name; NULL if scontrol prints nothing or `(null)`. #}
{% macro fact(key) %}nullif(nullif(regexp_extract(facts, '(?:^| ){{ key }}=(\S*)', 1), ''), '(null)'){% endmacro %}
{# The numbers of a version, which reveal nothing about a site. #}
{% macro version(key) %}nullif(regexp_extract(facts, ' {{ key }}(\d+(?:[.-]\d+)+)', 1), ''){% endmacro %}
{% macro total(counts) %}list_sum(list_transform({{ counts }}, lambda count: try_cast(count as bigint))){% endmacro %}
-- Both forms become one text per node. The reason is free text and comes last except for comments. Its first line ends
-- with who gave it and when.
create or replace temp table inventory_lines as
select
    file_id,
    line_number,
    line,
    sum(starts_with(line, 'NodeName=')::integer) over (partition by file_id order by line_number) as record
from lines
where line is not null;

create or replace temp table inventory_records as
with records as (
    select file_id, min(line_number) as line_number, string_agg(trim(line), ' ' order by line_number) as text
    from inventory_lines
    where record > 0
    group by file_id, record
),
divided as (
    select
        file_id,
        line_number,
        regexp_extract(text, '^(.*?)(?: Reason=|$)', 1) as facts,
        nullif(
            regexp_extract(text, ' Reason=(.*?)(?: (?:Comment|Extra|ResumeAfterTime|InstanceId)=.*)?$', 1), ''
        ) as reason_text
    from records
)
select
    *,
    regexp_extract(
        reason_text,
        '^(.*) \[([^\[\]@]+)@([^\[\]@ ]*\d[^\[\]@ ]*|Unknown)\](?: +(.*))?$',
        ['reason', 'reason_user', 'reason_time', 'more_lines']
    ) as signed
from divided;

create or replace temp table inventory_nodes as
with shown as (
    select
        file_id,
        line_number,
        {{ fact("NodeName") }} as node_name,
        {{ fact("State") }} as state,
        coalesce({{ fact("Gres") }}, '') as gres,
        contains(facts, ' Gres=') as states_gres,
        {{ fact("CfgTRES") }} as tres,
        {{ fact("CPUTot") }} as cpus,
        {{ fact("RealMemory") }} as memory,
        {{ fact("Partitions") }} as partitions,
        {{ fact("NodeHostName") }} as host_name,
        {{ fact("NodeAddr") }} as address,
        {{ version("OS=Linux[ _]") }} as kernel_version,
        {{ version("Version=") }} as slurm_version,
        {{ fact("BootTime") }} as boot_time,
        {{ fact("SlurmdStartTime") }} as start_time,
        {{ fact("LastBusyTime") }} as busy_time,
        {{ fact("SeenAt") }} as seen_time,
        {{ fact("Rack") }} as rack,
        {{ fact("Switch") }} as switch,
        {{ fact("NvlinkDomain") }} as nvlink_domain,
        {{ fact("Position") }} as position,
        nullif(signed.reason_time, '') as reason_time,
        coalesce(nullif(trim(concat_ws(' ', signed.reason, signed.more_lines)), ''), reason_text) as reason,
        nullif(signed.reason_user, '') as reason_user
    from inventory_records
),
local_times as (
    select
        *,
        {% for name, is_dated, stated, is_implausible in times %}
        case when {{ is_dated }} then try_cast({{ name }} as timestamp) end as {{ name }}_local
            {{- "," if not loop.last }}
        {% endfor %}
    from shown
),
parsed_times as (
    select
        local_times.*,
        batch_files.modified_at,
        {{ named_at }} as named_at,
        {% for name, is_dated, stated, is_implausible in times %}
        {{ stated }} as {{ name }}_stated{{ "," if not loop.last }}
        {% endfor %}
    from local_times inner join batch_files on batch_files.file_id = local_times.file_id
),
-- A clock that was not set yet spoils one fact of a node, not the whole node.
timed as (
    select
        *,
        {% for name, is_dated, stated, is_implausible in times %}
        case when not {{ is_implausible }} then {{ name }}_stated end as {{ name }}_at{{ "," if not loop.last }}
        {% endfor %}
    from parsed_times
),
found as (
    select
        *,
        regexp_extract_all(tres, {{ ("gres/" ~ gres ~ "=(\\d+)") | literal }}, 1) as tres_counts,
        regexp_extract_all(tres, {{ ("gres/" ~ gres ~ ":[^=,]+=(\\d+)") | literal }}, 1) as tres_counts_by_model,
        -- A comma that ends one item also begins the next, so each comma is doubled.
        regexp_extract_all(
            replace(gres, ',', ',,'), {{ ("(?:^|,)" ~ gres ~ "(?::[^:,(]+)?:(\\d+)(?:[(,]|$)") | literal }}, 1
        ) as gres_counts,
        regexp_extract_all(gres, {{ ("(?:^|,)" ~ gres ~ ":([^:,(]*[^:,(\\d][^:,(]*):\\d") | literal }}, 1) as gres_models,
        regexp_extract_all(coalesce(tres, ''), {{ ("gres/" ~ gres ~ ":([^=,]+)=") | literal }}, 1) as tres_models,
        -- The name of an accelerator other than `gpu` is its model, if nothing else gives one.
        regexp_extract_all(
            concat_ws(',', gres, tres), {{ ("(?:^|,)(?:gres/)?(" ~ gres ~ ")[:=]\\d") | literal }}, 1
        ) as accelerators
    from timed
),
counted as (
    select
        *,
        try_cast(coalesce(
            {{ total("tres_counts") }},
            {{ total("tres_counts_by_model") }},
            {{ total("gres_counts") }},
            case when states_gres then 0 end
        ) as bigint) as stated_gpu_count,
        list_distinct(gres_models || tres_models) as gpu_models,
        list_filter(accelerators, lambda name: name <> 'gpu') as gres_names
    from found
)
select
    counted.file_id,
    counted.line_number,
    node_name,
    coalesce(
        seen_time_at,
        greatest(
            max(greatest(boot_time_at, start_time_at, busy_time_at, reason_time_at)) over (partition by file_id),
            named_at
        ),
        modified_at
    ) as captured_at,
    state,
    case when stated_gpu_count <= {{ max_gpus }} then stated_gpu_count::integer end as gpu_count,
    case when len(gpu_models) > 1 then 'mixed' else coalesce(gpu_models[1], gres_names[1]) end as gpu_model,
    -- scontrol prints 0 for what a node has not reported yet
    case when try_cast(cpus as integer) > 0 then try_cast(cpus as integer) end as cpu_count,
    case
        when try_cast(memory as bigint) between 0 and {{ max_memory_mib }} then try_cast(memory as bigint)
    end as memory_mib,
    coalesce(string_split(partitions, ','), []) as partitions,
    boot_time_at as booted_at,
    reason,
    reason_user,
    reason_time_at as reason_at,
    case
        when coalesce(host_name, address) is not null
            then list_filter(
                list_distinct([lower(host_name), lower(address)]), lambda name: name <> lower(node_name)
            )
    end as host_names,
    rack,
    switch,
    nvlink_domain,
    position,
    kernel_version,
    slurm_version,
    stated_gpu_count,
    coalesce(
        length(node_name) <= {{ max_name_length }} and not regexp_matches(node_name, '[\[\],]'), false
    ) as is_node
from counted;

insert into file_warnings
select distinct file_id, 'impossible_gpu_count' from inventory_nodes where stated_gpu_count > {{ max_gpus }}
union all
select distinct file_id, 'more_partitions_than_kept: the first {{ max_partitions }} of a node'
from inventory_nodes
where len(partitions) > {{ max_partitions }}
