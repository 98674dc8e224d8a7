-- Mark lines that several files share, then join the lines of one fault into its first line.
{# Lines of one device and code within this time state one fault: an Xid 13 prints up to 18 within milliseconds. A line
   that a rule marks as a repetition belongs to a fault within this time, whatever device it names. #}
{% set seconds_of_one_fault = 5 %}
{# A fault of a device and its repetition within this time are one: a driver that has lost a GPU says so, without a
   number, whenever a program asks for it. #}
{% set repeated_seconds = 60 %}
{% set symptom = "cluster_id, node, kind, code, pci_address" %}
create or replace temp table kernel_verdicts as
with occurrences as (
    select
        rowid as row_key,
        *,
        coalesce(node_id, node_name) as node,
        -- Compare lines by the second, as syslog, kern.log and the journal have different precision. The n-th of equal
        -- lines in one file is the n-th in the other; repeats within a file are not copies.
        row_number() over (
            partition by cluster_id, path, node_name, date_trunc('second', occurred_at), message
            order by line_number
        ) as occurrence
    from raw.kernel_messages
    where disposition <> 'unknown_node'
),
-- Keep the copy of a line with the best time.
copies as (
    select
        *,
        row_number() over (
            partition by cluster_id, node, date_trunc('second', occurred_at), message, occurrence
            order by
                list_position(
                    [
                        'exact', 'second', 'local_assumed', 'year_inferred', 'dmesg_t', 'boot_relative', 'ambiguous_dst'
                    ],
                    time_quality
                ),
                path,
                line_number
        ) as copy
    from occurrences
),
gaps as (
    select
        *,
        coalesce(
            occurred_at - lag(occurred_at) over of_symptom > interval {{ seconds_of_one_fault }} second, true
        ) as is_onset
    from copies
    where copy = 1
    window of_symptom as (
        partition by {{ symptom }} order by occurred_at, path, line_number
    )
),
events as (
    select
        *,
        sum(is_onset::integer) over (partition by {{ symptom }} order by occurred_at, path, line_number) as event
    from gaps
),
members as (
    select
        *,
        -- an event shows its first line, or the first line that calls it fatal or proves it
        first_value(row_key) over (
            partition by {{ symptom }}, event
            order by
                is_fatal is not distinct from true desc,
                coalesce(
                    rule in (
                        {% for rule in rules_of_evidence %}{{ rule | literal }}{{ ", " if not loop.last }}{% endfor %}
                    ),
                    false
                ) desc,
                occurred_at, path, line_number
        ) as first_row
    from events
),
firsts as (
    select * from members where row_key = first_row
),
repeating_kinds (kind, repeats) as (
    values
    {% for kind, repeats in repeating_kinds %}
    ({{ kind | literal }}, {{ repeats | literal }}){{ "," if not loop.last }}
    {% endfor %}
),
repetitions as (
    select firsts.row_key, faults.row_key as repeated
    from firsts
    inner join repeating_kinds using (kind)
    inner join firsts as faults
        on faults.cluster_id = firsts.cluster_id
        and faults.node = firsts.node
        and faults.occurred_at between firsts.occurred_at - interval {{ repeated_seconds }} second
            and firsts.occurred_at + interval {{ repeated_seconds }} second
        and regexp_full_match(concat_ws(' ', faults.kind, faults.code), repeating_kinds.repeats)
        -- a line without a device repeats a line of its kind with one
        and (faults.kind <> firsts.kind or (firsts.pci_address is null and faults.pci_address is not null))
        and (
            coalesce(faults.pci_address = firsts.pci_address, true)
            or abs(epoch(faults.occurred_at - firsts.occurred_at)) <= {{ seconds_of_one_fault }}
        )
    qualify row_number() over (
        partition by firsts.row_key
        order by abs(epoch(faults.occurred_at - firsts.occurred_at)), faults.occurred_at, faults.path, faults.line_number
    ) = 1
),
-- a repetition of a repetition belongs to the same fault
joined as (
    select
        members.row_key,
        coalesce(further.repeated, repetitions.repeated, members.first_row) as first_row
    from members
    left join repetitions on repetitions.row_key = members.first_row
    left join repetitions as further on further.row_key = repetitions.repeated
)
select
    row_key,
    case when row_key = first_row then 'loaded' else 'coalesced' end as disposition,
    case when row_key = first_row then count(*) over (partition by first_row)::integer else 1 end as line_count
from joined
union all
select row_key, 'duplicate', 1 from copies where copy > 1;

update raw.kernel_messages
set disposition = verdicts.disposition, line_count = verdicts.line_count
from kernel_verdicts as verdicts
where raw.kernel_messages.rowid = verdicts.row_key
    and (raw.kernel_messages.disposition, raw.kernel_messages.line_count)
        is distinct from (verdicts.disposition, verdicts.line_count)
