"""SQL that turns the texts of accounting records into typed rows, with the reason to quarantine a bad one."""

from __future__ import annotations

from collections.abc import Collection

from assets.sources.sacct.columns import COLUMNS, TEXTS, plain_columns
from assets.sources.sacct.counts import count_of, node_count_of
from assets.sources.sacct.fields import exclusion_text
from assets.sources.sacct.lookups import DURATIONS, EXCLUSIONS, MEMORY
from assets.sources.sacct.moments import MOMENTS, moment_columns, moment_problem, placed
from assets.sources.sacct.values import LARGEST_ID, MAX_SECONDS
from assets.sources.temp_tables import TempTable
from assets.sources.text import times
from assets.sources.text.masking import masked
from assets.sources.text.nodelists import SPARE_FACTOR, SPARE_NAMES

SINGLE_NODES = TempTable("single_nodes", {"text": "varchar", "node_id": "varchar"})


def _code_of(text: str, place: int) -> str:
    """Return SQL for the exit code (place 1) or signal (2) of a text like 1:0; nearly all are 0:0.

    Up to 25.05 sacct prints a code above 128 as what it is above that, so 143 as 15. That is done to later prints too.
    """
    number = f"try_cast(split_part({text}, ':', {place}) as integer)"
    read = f"case when {number} > 128 then {number} - 128 else {number} end" if place == 1 else number
    return f"case when {text} = '0:0' then 0 else {read} end"


def _job_number(raw: str, shown: str) -> str:
    """Return SQL for the number of a job: JobIDRaw, else JobID where that is a number.

    An export without JobIDRaw does not tell the number of an array task or of a part of a heterogeneous job. These get
    one made of their id, beyond any that Slurm gives. DuckDB itself reads `70_1` as 701.
    """
    is_part = rf"regexp_full_match({shown}, '\d+([_+]\d+)+')"
    made = f"case when {is_part} then {LARGEST_ID} + md5_number_lower({shown}) % {LARGEST_ID} end"
    cast = "try_cast({0} as bigint)"
    # what nearly all are is tested first, in a fraction of the time
    number = f"case when {cast} >= 0 and {cast}::varchar = {{0}} or ltrim({{0}}, '0123456789') = '' then {cast} end"
    return f"coalesce({number.format(raw)}, {number.format(shown)}, ({made})::bigint)"


def type_records(zone: str, years: times.Years, looked_up: Collection[str], texts: str = "sacct_texts") -> str:
    """Return the query that turns texts and the lookups of distinct values into typed records.

    Parameters
    ----------
    zone
        IANA zone of times without offset.
    years
        First and last year of the local times, or more.
    looked_up
        Which lists of `sacct_seen` hold anything.
    texts
        The records, in the columns of `sacct_texts`.
    """
    t = TEXTS

    def joined(lookup: TempTable, alias: str, text: str, seen: str) -> str:
        """Join a lookup, or a row of NULL where it holds nothing: a join is set up for every batch, however small."""
        if seen in looked_up:
            return f"left join {lookup.name} as {alias} on {alias}.text = {text}"
        nothing = ", ".join(f"null::{sql_type} as {name}" for name, sql_type in lookup.columns.items())
        return f"cross join (select {nothing}) as {alias}"

    utc = ", ".join(f"case when {n}_at >= timestamp '1970-01-03' then {n}_at end as {n}_utc" for n in MOMENTS)
    problems = " ".join(f"when {n}_problem is not null then {n}_problem" for n in MOMENTS)
    details = " ".join(f"when {n}_problem is not null then '{n}=' || left({t[n]}, 80)" for n in MOMENTS)
    free_texts = ", ".join(f"{masked(t[c.field])} as {t[c.field]}" for c in COLUMNS if c.is_free_text)
    # `alone` has the expressions that take longest to set up, such as patterns. DuckDB sets up what stands behind a
    # join once more for each join, as spilled rows come back there: behind all of them it took 80 ms of every batch.
    return f"""
        with alone as (
            select * replace ({free_texts}),
                {exclusion_text()} as exclusion_text,
                {", ".join(moment_columns(n) for n in MOMENTS)},
                {", ".join(f"{moment_problem(n)} as {n}_problem" for n in MOMENTS)}
            from {texts}
        ),
        parsed as (
            select *,
                coalesce(try_cast({t["ElapsedRaw"]} as bigint), elapsed.seconds) as printed_elapsed,
                case when printed_elapsed between -{MAX_SECONDS} and {MAX_SECONDS} then printed_elapsed
                end as told_elapsed,
                case when suspended.seconds <= {MAX_SECONDS} then suspended.seconds end as told_suspended,
                (printed_elapsed is not null and told_elapsed is null)
                    or (suspended.seconds is not null and told_suspended is null) as is_endless,
                coalesce(
                    case when try_cast({t["TimelimitRaw"]} as bigint) between 0 and {MAX_SECONDS // 60}
                        then try_cast({t["TimelimitRaw"]} as bigint) * 60 end,
                    case when timelimit.seconds <= {MAX_SECONDS} then timelimit.seconds end
                ) as time_limit_seconds
            from alone
            {joined(DURATIONS, "elapsed", t["Elapsed"], "elapsed")}
            {joined(DURATIONS, "suspended", t["Suspended"], "suspended")}
            {joined(DURATIONS, "timelimit", t["Timelimit"], "time_limits")}
        ),
        {placed(zone, years)},
        judged as (
            select *,
                {utc},
                {_job_number(t["JobIDRaw"], t["JobID"])} as job_number
            from placed
        ),
        node_lists as (select *, len(node_names) > 0 as has_names from sacct_node_lists),
        single_nodes as (
            select node_list as text, node_ids[1] as node_id from sacct_node_lists where len(node_ids) = 1
        ),
        resolved as (
            select
                judged.*,
                states.state, states.is_open, states.cancelled_by_uid, states.was_cut, states.problem as state_problem,
                Submit_utc as submitted_at,
                Eligible_utc as eligible_at,
                -- Older versions of Slurm print the end as the start of a job that was cancelled while it waited.
                case
                    when states.state = 'PENDING' then null
                    when has_node_column and lists.has_names is not true and Start_utc = End_utc then null
                    else Start_utc
                end as started_at,
                -- Of a job that goes on, an End is that of the window that was asked for (sacct -T, slurmrestd).
                case when states.state in ('PENDING', 'RUNNING', 'SUSPENDED') then null else End_utc end as ended_at,
                lists.node_ids, lists.problem as list_problem, lists.problem_detail as list_detail,
                case when lists.has_names then {t["NodeList"]} end as node_list,
                allocated.gpu_count as tres_gpu_count, allocated.gpu_count_source as tres_source,
                allocated.gpu_type as tres_gpu_type, allocated.cpu_count as tres_cpu_count,
                coalesce(allocated.problem, requested.problem) as tres_problem,
                coalesce(allocated.detail, requested.detail) as tres_detail,
                requested.gpu_count as requested_gpu_count, requested.cpu_count as requested_cpu_count,
                memory.mib, memory.per,
                coalesce(exclusions.node_ids, []::varchar[]) as excluded_node_ids,
                failed.node_id as failed_node_id
            from judged
            left join sacct_states as states on states.text = {t["State"]}
            left join node_lists as lists on lists.node_list = {t["NodeList"]}
            left join sacct_tres as allocated on allocated.text = {t["AllocTRES"]}
            left join sacct_tres as requested on requested.text = {t["ReqTRES"]}
            {joined(MEMORY, "memory", t["ReqMem"], "memory")}
            {joined(EXCLUSIONS, "exclusions", "exclusion_text", "exclusions")}
            {joined(SINGLE_NODES, "failed", t["FailedNode"], "failed_nodes")}
        ),
        reasoned as (
            select
                resolved.*,
                files.modified_at,
                case when has_node_column then node_list is not null else started_at is not null end as has_nodes,
                case
                    when job_number is null then 'bad_job_id'
                    when {t["State"]} is null or state_problem is not null then 'unknown_state'
                    {problems}
                    when submitted_at is null then 'bad_timestamp'
                    when is_nonexistent then 'nonexistent_local_time'
                    when ended_at < started_at then 'end_before_start'
                    when ended_at < submitted_at then 'end_before_submit'
                    when least(submitted_at, started_at, ended_at) < {times.literal(times.EARLIEST)}
                        then 'implausible_time'
                    when is_endless then 'implausible_duration'
                    when greatest(submitted_at, started_at, ended_at)
                        > greatest(files.modified_at, get_current_timestamp()::timestamp) + interval 1 day
                        then 'timestamp_in_future'
                    when list_problem is not null then list_problem
                    when len(node_ids) > {SPARE_NAMES} + {SPARE_FACTOR} * {count_of(t["NNodes"])}::bigint
                        then 'nodelist_too_large'
                    when tres_problem is not null then tres_problem
                end as found_problem,
                case
                    when job_number is null then 'JobIDRaw=' || coalesce({t["JobIDRaw"]}, '') || ' JobID='
                        || coalesce({t["JobID"]}, '')
                    when {t["State"]} is null or state_problem is not null
                        then 'State=' || coalesce(left({t["State"]}, 80), '')
                    {details}
                    when submitted_at is null then 'no Submit'
                    when is_nonexistent then 'skipped by a change to summer time in {zone}'
                    when ended_at < started_at then 'End ' || ended_at || ' before Start ' || started_at || ' (UTC)'
                    when ended_at < submitted_at
                        then 'End ' || ended_at || ' before Submit ' || submitted_at || ' (UTC)'
                    when least(submitted_at, started_at, ended_at) < {times.literal(times.EARLIEST)}
                        then least(submitted_at, started_at, ended_at) || ' (UTC)'
                    when is_endless then concat(
                        'ElapsedRaw=', {t["ElapsedRaw"]}, ' Elapsed=', {t["Elapsed"]}, ' Suspended=', {t["Suspended"]}
                    )
                    when list_problem is not null then list_detail
                    when len(node_ids) > {SPARE_NAMES} + {SPARE_FACTOR} * {count_of(t["NNodes"])}::bigint
                        then concat('it names ', len(node_ids), ' hosts where the job has ', {t["NNodes"]}, ' nodes')
                    when tres_problem is not null then tres_detail
                end as found_detail
            from resolved inner join batch_files as files on files.file_id = resolved.file_id
        )
        select
            file_id,
            line_number,
            case when has_bad_bytes and found_problem in ('bad_job_id', 'unknown_state', 'bad_timestamp')
                 then 'bad_encoding' else found_problem end as problem,
            found_detail as detail,
            coalesce({t["JobID"]}, {t["JobIDRaw"]}) as job_id,
            job_number as job_id_raw,
            case when contains({t["JobID"]}, '_') then try_cast(split_part({t["JobID"]}, '_', 1) as bigint)
            end as array_job_id,
            case when contains({t["JobID"]}, '_')
                then try_cast(split_part(split_part({t["JobID"]}, '_', 2), '+', 1) as bigint) end as array_task_id,
            case when contains({t["JobID"]}, '+')
                then try_cast(split_part(split_part({t["JobID"]}, '+', 1), '_', 1) as bigint) end as het_job_id,
            case when contains({t["JobID"]}, '+') then try_cast(split_part({t["JobID"]}, '+', 2) as bigint)
            end as het_offset,
            coalesce({t["User"]}, 'uid:' || {t["UID"]}) as user_name,
            submitted_at,
            eligible_at,
            started_at,
            ended_at,
            case
                when is_ambiguous then 'ambiguous_dst'
                when coalesce(Submit_local, Eligible_local, Start_local, End_local) is not null then 'local'
                when length({t["Submit"]}) > 11 then 'offset'
                else 'epoch'
            end as time_quality,
            case
                when told_elapsed >= 0 then told_elapsed
                when started_at is null and ended_at is not null then 0
                else date_diff('second', started_at, coalesce(ended_at, End_utc)) - coalesce(told_suspended, 0)
            end as elapsed_seconds,
            told_suspended as suspended_seconds,
            state,
            {t["State"]} as state_raw,
            cancelled_by_uid,
            {_code_of(t["ExitCode"], 1)} as exit_code,
            {_code_of(t["ExitCode"], 2)} as exit_signal,
            {_code_of(t["DerivedExitCode"], 1)} as derived_exit_code,
            {_code_of(t["DerivedExitCode"], 2)} as derived_exit_signal,
            node_list,
            coalesce(node_ids, []::varchar[]) as node_ids,
            coalesce(
                {node_count_of(t["NNodes"])}, {node_count_of(t["ReqNodes"])}, {node_count_of(t["AllocNodes"])}
            ) as requested_node_count,
            case
                when tres_source <> 'none' then tres_gpu_count
                when {t["AllocTRES"]} is null and not has_nodes then 0
            end as gpu_count,
            case
                when tres_source <> 'none' then tres_source
                when {t["AllocTRES"]} is null and not has_nodes then 'nothing_allocated'
                when {t["AllocTRES"]} is null then 'no_tres'
                else 'none'
            end as gpu_count_source,
            tres_gpu_type as gpu_type,
            requested_gpu_count,
            case
                when tres_cpu_count is not null then tres_cpu_count
                when has_nodes then coalesce({count_of(t["AllocCPUS"])}, {count_of(t["NCPUS"])})
                else 0
            end as cpu_count,
            mib * case per
                when 'node' then coalesce(
                    nullif(len(node_ids), 0), {node_count_of(t["NNodes"])}, {node_count_of(t["ReqNodes"])}
                )
                when 'cpu' then coalesce({count_of(t["NCPUS"])}, {count_of(t["AllocCPUS"])}, requested_cpu_count)
                else 1
            end as requested_memory_mib,
            time_limit_seconds,
            failed_node_id,
            {plain_columns()},
            excluded_node_ids,
            list_filter([
                case when was_cut then 'truncated_value' end,
                case when has_conflict then 'dup_column_conflict' end,
                case when has_bad_bytes then 'bad_encoding' end,
                case when ended_at is null and not is_open then 'end_missing' end,
                -- The elapsed time of a running job ends when it was exported, which a copied file no longer tells.
                case when state = 'RUNNING' and coalesce(time_limit_seconds, 31536000) + 86400
                    < coalesce(told_elapsed, date_diff('second', started_at, modified_at))
                    then 'runaway_suspect' end,
                -- Without Suspended a longer wall-clock time may be suspension; a shorter one never is.
                case when submitted_at <= started_at and
                    date_diff('second', started_at, ended_at) - told_elapsed - coalesce(told_suspended, 0)
                        not between -1 and case when told_suspended is null then 1e9 else 1 end
                    then 'elapsed_mismatch' end
            ], lambda warning: warning is not null) as warnings
        from reasoned
    """
