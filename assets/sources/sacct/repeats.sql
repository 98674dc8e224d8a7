create or replace temp table sacct_repeats as
with repeated as (
    select cluster_id, job_id_raw, submitted_at
    from raw.sacct where rowid not in (select row_id from sacct_ruled_out)
    group by all having count(*) > 1
),
members as (
    select
        sacct.rowid as row_id,
        sacct.*,
        coalesce(
            sacct.ended_at,
            sacct.started_at + to_seconds(sacct.elapsed_seconds + coalesce(sacct.suspended_seconds, 0))
        ) as seen_until,
        case
            when count(*) over submissions = count(sacct.db_index) over submissions then sacct.db_index
            else (sacct.state = 'REQUEUED' and sacct.ended_at is not distinct from sacct.submitted_at)::bigint
        end as attempt_of_submission
    from raw.sacct as sacct inner join repeated using (cluster_id, job_id_raw, submitted_at)
    where sacct.rowid not in (select row_id from sacct_ruled_out)
    window submissions as (partition by sacct.cluster_id, sacct.job_id_raw, sacct.submitted_at)
)
select
    row_id, cluster_id, job_id_raw, submitted_at, attempt_of_submission, started_at, seen_until,
    min(started_at) over attempts < max(started_at) over attempts as is_cut,
    row_number() over (
        partition by cluster_id, job_id_raw, submitted_at, attempt_of_submission
        order by
            (state not in ({% for state in open_states %}{{ state | literal }}{{ ", " if not loop.last }}{% endfor %}))::integer desc,
            ended_at desc nulls last,
            seen_until desc nulls last,
            elapsed_seconds desc nulls last,
            list_position(['epoch', 'offset', 'local', 'ambiguous_dst'], time_quality),
            (gpu_count is not null)::integer desc,
            len(node_ids) desc,
            (submit_line is not null)::integer + (db_index is not null)::integer
                + (failed_node_id is not null)::integer desc,
            (state = 'REQUEUED')::integer desc,
            state, node_list nulls last, job_name nulls last, user_name nulls last, exit_code nulls last,
            path, line_number
    ) as place
from members
window attempts as (partition by cluster_id, job_id_raw, submitted_at, attempt_of_submission);

-- sacct -T cuts an attempt at both edges of a window: the slice of one window ends where that of the next begins, or a
-- second before if windows end at 23:59:59. The slices before the last one count with it.
create or replace temp table sacct_slices as
with recursive cut_records as (
    select * from sacct_repeats where is_cut
),
followed as (
    select later.row_id as next_row_id, arg_min(earlier.row_id, (earlier.started_at, earlier.place)) as row_id
    from cut_records as later inner join cut_records as earlier
        using (cluster_id, job_id_raw, submitted_at, attempt_of_submission)
    where earlier.started_at < earlier.seen_until
        and later.started_at between earlier.seen_until and earlier.seen_until + interval 1 second
        and earlier.started_at < later.started_at
    group by later.row_id
),
slices as (
    select followed.row_id
    from followed inner join cut_records on cut_records.row_id = followed.next_row_id and cut_records.place = 1
    union all
    select followed.row_id from slices inner join followed on followed.next_row_id = slices.row_id
)
from slices;

create or replace temp table sacct_placed as
select
    row_id,
    case
        when place = 1 then 'loaded'
        when row_id in (from sacct_slices) then 'coalesced'
        else 'duplicate'
    end as disposition
from sacct_repeats;

update raw.sacct set disposition = placed.disposition
from sacct_placed as placed
where placed.row_id = sacct.rowid and sacct.disposition <> placed.disposition;

update raw.sacct set disposition = ruled_out.disposition
from sacct_ruled_out as ruled_out
where ruled_out.row_id = sacct.rowid and sacct.disposition <> ruled_out.disposition;

update raw.sacct set disposition = 'loaded'
where disposition <> 'loaded'
    and rowid not in (select row_id from sacct_repeats union all select row_id from sacct_ruled_out);

drop table sacct_placed;
drop table sacct_slices;
drop table sacct_repeats;
drop table sacct_ruled_out;
