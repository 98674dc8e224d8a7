{% set address = "([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})" %}
{% set any_device = "\\b" ~ address | replace("(", "(?:") ~ "(?:\\.\\d)?\\b" %}
{% set speaks_of_xid = "regexp_matches(message, 'NVRM: Xid \\(|SXid \\(')" %}
create or replace temp table kernel_named as
with spoken as (
    select *, coalesce(tag, 'kernel') as program, if(program = 'kernel', '', program || ': ') || message as statement
    from kernel_unwrapped
    inner join kernel_candidates using (file_id, line_number)
),
named as (
    select
        * exclude (program),
        case when is_relevant then case
            -- a rule of the site applies to the kernel's lines, and to those of a program that it names
            {% for rule, _, pattern, _, _, _, _ in site_rules %}
            when regexp_matches(statement, {{ ("(?i)" ~ pattern) | literal }})
                and (program = 'kernel' or not regexp_matches(message, {{ ("(?i)" ~ pattern) | literal }})) then {{ rule | literal }}
            {% endfor %}
            {% for rule, _, pattern, programs, is_of_kernel, _, _ in rules %}
            when regexp_matches(message, {{ ("(?i)" ~ pattern) | literal }})
                {{- "" if is_of_kernel else " and regexp_full_match(tag, " ~ programs | literal ~ ")" }} then {{ rule | literal }}
            {% endfor %}
        end end as rule
    from spoken
)
-- `kind` is a separate step: in the same select, DuckDB would repeat all patterns of `rule` in each branch.
select
    * exclude (line),
    case rule
        {% for rule, kind, _, _, _, _, _ in (site_rules + rules) %}
        when {{ rule | literal }} then {{ kind | literal }}
        {% endfor %}
    end as kind,
    -- a first line with its own ending is a whole record
    coalesce(contains(message, 'fallen off the bus and is not'), false) as has_ending,
    starts_with(message, 'NVRM: The NVIDIA GPU') as is_beginning,
    is_beginning and not has_ending as is_first_of_three,
    has_ending and not is_beginning as is_last_of_three,
    starts_with(message, 'NVRM:')
    and not is_beginning
    and (contains(message, 'installed in this system has') or is_last_of_three) as is_tail
from named;

-- "fallen off the bus" may come in three lines; the first is a fault only with the third.
create or replace temp table kernel_incomplete as
select file_id, line_number
from (
    select
        file_id,
        line_number,
        kind,
        is_tail,
        not is_first_of_three
        or lead(is_last_of_three, 1, false) over nearby
        or lead(is_last_of_three, 2, false) over nearby as is_complete,
        'fell_off_bus' in (lag(kind, 1, '') over nearby, lag(kind, 2, '') over nearby) as is_after_first
    from (
        select
            *,
            -- journalctl prints further lines of a message without time and host
            last_value(if(stamp_kind is null and tag is null, null, host) ignore nulls) over (
                partition by file_id order by line_number
            ) as last_host
        from kernel_named
        where
            is_relevant
            and file_id in (select file_id from kernel_named where is_first_of_three or is_tail)
    )
    window nearby as (
        partition by file_id, coalesce(if(stamp_kind is null and tag is null, last_host, host), host)
        order by line_number
    )
)
where kind = 'fell_off_bus' and (is_complete and not (is_tail and is_after_first)) is not true;

create or replace temp view kernel_classified as
select
    named.* exclude (is_last_of_three, is_beginning, has_ending) replace (case when incomplete.file_id is null then named.kind end as kind)
from kernel_named as named
left join kernel_incomplete as incomplete
    on incomplete.file_id = named.file_id and incomplete.line_number = named.line_number;

-- Within one boot every line with both a date and an uptime gives the time of the boot.
create or replace temp table kernel_boots as
with lines_of_boot as (
    select
        file_id,
        line_number,
        host,
        uptime_seconds,
        occurred_at,
        stamp_kind,
        message,
        sum((kind is not distinct from 'boot')::integer) over (partition by file_id, host order by line_number) as boot
    from kernel_classified
    where uptime_seconds < 1e10 and file_id in (select file_id from kernel_classified where occurred_at is null)
),
anchors as (
    select
        file_id,
        host,
        boot,
        coalesce(
            occurred_at,
            make_timestamp(try_cast(
                nullif(regexp_extract(message, 'setting system clock to .* UTC \((\d{1,11})\)', 1), '') as bigint
            ) * 1000000)
        ) - to_microseconds((uptime_seconds * 1e6)::bigint) as booted_at,
        coalesce(stamp_kind = 'month', false) as has_no_year
    from lines_of_boot
)
select
    lines_of_boot.file_id,
    lines_of_boot.line_number,
    min(anchors.booted_at) as booted_at,
    arg_min(anchors.has_no_year, anchors.booted_at) as has_no_year
from lines_of_boot
join anchors
    on anchors.file_id = lines_of_boot.file_id
    and anchors.host is not distinct from lines_of_boot.host
    and anchors.boot = lines_of_boot.boot
where lines_of_boot.occurred_at is null
group by lines_of_boot.file_id, lines_of_boot.line_number;

-- The grammar of Xid and SXid lines is that of NVIDIA's open kernel modules, plus the older form without `PCI:`.
create or replace temp table kernel_outcomes as
with parts as (
    select
        *,
        regexp_extract(
            case when kind = 'xid' then message else '' end,
            '^NVRM: Xid \((?:PCI:)?{{ address }}(?:\.\d+)?(?: GPU-I:(\d+))?(?: GPU-CI:(\d+))?\): *(\d+)\b(.*)$',
            ['domain', 'bus', 'device', 'gpu_instance', 'compute_instance', 'code', 'rest']
        ) as xid,
        regexp_extract(
            case when kind = 'sxid' then message else '' end,
            'SXid \((?:PCI:)?{{ address }}(?:\.\d+)?\): *(\d+)\b(.*)$',
            ['domain', 'bus', 'device', 'code', 'rest']
        ) as sxid
    from kernel_classified
),
symptoms as (
    select
        * exclude (xid, sxid),
        try_cast(coalesce(nullif(xid.code, ''), nullif(sxid.code, '')) as integer) as code,
        lower(coalesce(
            nullif(right(xid.domain, 4) || ':' || xid.bus || ':' || xid.device, '::'),
            nullif(right(sxid.domain, 4) || ':' || sxid.bus || ':' || sxid.device, '::'),
            -- in `AER: ... error received: <device>` the reporter comes first and the culprit last
            -- a machine check takes several lines, and few of them name a device
            case
                when kind <> 'mce'
                    then regexp_extract(
                        regexp_extract_all(message, {{ any_device | literal }})[-1],
                        '([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.\d)?$',
                        1
                    )
            end
        )) as pci_address,
        try_cast(nullif(xid.gpu_instance, '') as integer) as mig_gpu_instance,
        try_cast(nullif(xid.compute_instance, '') as integer) as mig_compute_instance,
        case
            when kind = 'sxid' or code between 144 and 150
                then try_cast(nullif(regexp_extract(message, '\b[Ll]ink (\d+)', 1), '') as integer)
        end as link,
        case
            when kind = 'xid' then try_cast(nullif(regexp_extract(xid.rest, 'pid=''?(\d+)', 1), '') as bigint)
            when kind in ('oom_cgroup', 'oom_system')
                then try_cast(nullif(regexp_extract(message, 'process (\d+)', 1), '') as bigint)
            when kind = 'hung_task'
                then try_cast(nullif(regexp_extract(message, 'task .*:(\d+) blocked', 1), '') as bigint)
            when kind = 'nccl_segfault'
                then try_cast(nullif(regexp_extract(message, '\[(\d+)\]: segfault', 1), '') as bigint)
        end as process_id,
        nullif(nullif(nullif(case
            when kind = 'xid'
                then case
                    when contains(xid.rest, ', Ch ') then regexp_extract(xid.rest, 'name=(.*?), Ch ', 1)
                    else regexp_extract(xid.rest, 'name=([^,]*)', 1)
                end
            when kind in ('oom_cgroup', 'oom_system') then regexp_extract(message, 'process \d+[^(]*\(([^)]*)\)', 1)
            when kind = 'hung_task' then regexp_extract(message, 'task (.*):\d+ blocked', 1)
            when kind = 'nccl_segfault' then regexp_extract(message, '^(.*?)\[\d+\]: segfault', 1)
        end, ''), '<unknown>'), '''<unknown>''') as process_name,
        case
            when kind = 'sxid' or code between 144 and 150 then
                case
                    when regexp_matches(message, '(?i)\bnon-?fatal\b') then false
                    when regexp_matches(message, '(?i)\bfatal\b') then true
                end
            when kind = 'pcie_aer_fatal' then true
            when kind = 'pcie_aer_corrected' then false
            when kind = 'mce' and regexp_matches(message, 'severity: fatal|Machine Check Exception|[Uu]ncorrected')
                then true
            when kind = 'mce' and regexp_matches(message, 'severity: corrected|Corrected error') then false
        end as is_fatal,
        case
            when kind in ('boot', 'driver_loaded', 'nic_firmware', 'bios')
                then nullif(regexp_extract(message, '\s(\d+(?:[.-]\d+)+)', 1), '')
        end as version,
        case
            when code = 154 then nullif(regexp_extract(message, 'to 0x[0-9a-fA-F]+ \(([^)]*)\)', 1), '')
        end as recovery_action
    from parts
),
anchored as (
    select
        symptoms.* replace (
            coalesce(
                symptoms.occurred_at,
                boots.booted_at + to_microseconds((least(symptoms.uptime_seconds, 1e10) * 1e6)::bigint)
            ) as occurred_at
        ),
        coalesce(if(symptoms.occurred_at is null, boots.has_no_year, stamp_kind = 'month'), false) as has_no_year
    from symptoms
    left join kernel_boots as boots
        on boots.file_id = symptoms.file_id and boots.line_number = symptoms.line_number
)
select
    anchored.*,
    case
        when is_bad_json or (message is null and is_relevant) then null
        when kind is null and is_tail then 'continuation'
        when kind is null and stamp_kind is null and tag is null and {{ speaks_of_xid }} then null
        when kind is null and tag <> 'kernel' and {{ speaks_of_xid }} then 'untrusted_source'
        when kind is null then 'not_relevant'
        when not (
            tag is null
            or tag = 'kernel'
            {% for rule, _, _, _, _, _, _ in site_rules %}
            or rule = {{ rule | literal }}
            {% endfor %}
            {% for _, kind, _, programs, _, _, _ in rules if programs %}
            or (kind = {{ kind | literal }} and regexp_full_match(tag, {{ programs | literal }}))
            {% endfor %}
        ) then 'untrusted_source'
    end as skip_reason,
    case
        when is_bad_json then 'bad_json'
        when message is null then 'missing_message'
        when kind in ('xid', 'sxid') and coalesce(code, 0) = 0 then 'bad_xid'
        when occurred_at is null and uptime_seconds is not null then 'boot_relative_time'
        when occurred_at is null and stamp_kind is not null then 'bad_timestamp'
        when occurred_at is null or host is null then 'missing_time_or_node'
        when {{ is_implausible }} then 'implausible_time'
    end as problem,
    case
        when is_bad_json then 'not a complete JSON object'
        when message is null then 'a record among lines of a log, without MESSAGE'
        when kind in ('xid', 'sxid') and coalesce(code, 0) = 0
            then 'the code after the device is missing, 0 or too large'
        when occurred_at is null and uptime_seconds is not null
            then 'seconds since a boot at a time that the file does not state; export with journalctl or dmesg -T'
        when occurred_at is null and stamp_kind = 'month'
            then 'no such moment, like 29 February, in the year that the name or modification of the file gives'
        when occurred_at is null then 'no time in a form that is known'
        when host is null then 'no host in the line or the name of the file'
        else occurred_at || ' (UTC)'
    end as problem_detail
from anchored
inner join batch_files on batch_files.file_id = anchored.file_id;

insert into stated_times
select file_id, line_number, host, occurred_at, has_no_year
from kernel_outcomes inner join batch_files using (file_id)
where not {{ is_implausible }};

-- Lines of other programs differ by the name before them.
insert into unknown_lines by name
select
    outcomes.file_id, outcomes.line_number, outcomes.host as node_name, outcomes.occurred_at as seen_at,
    outcomes.has_no_year, outcomes.statement as message
from kernel_outcomes as outcomes
inner join kernel_candidates as candidates
    on candidates.file_id = outcomes.file_id and candidates.line_number = outcomes.line_number
where
    outcomes.skip_reason = 'not_relevant'
    and outcomes.problem is null
    and outcomes.message <> ''
    and {{ has_weight }}
