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
        count(*) over (partition by sacct.cluster_id, sacct.job_id_raw, sacct.submitted_at) as record_count,
        count(sacct.db_index) over (
            partition by sacct.cluster_id, sacct.job_id_raw, sacct.submitted_at
        ) as indexed_count
    from raw.sacct as sacct inner join repeated using (cluster_id, job_id_raw, submitted_at)
    where sacct.rowid not in (select row_id from sacct_ruled_out)
)
select
    row_id,
    row_number() over (
        partition by
            cluster_id, job_id_raw, submitted_at,
            case
                when record_count = indexed_count then db_index
                else (state = 'REQUEUED' and ended_at is not distinct from submitted_at)::bigint
            end
        order by
            (state not in ({% for state in open_states %}{{ state | literal }}{{ ", " if not loop.last }}{% endfor %}))::integer desc,
            ended_at desc nulls last,
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
from members;

update raw.sacct set disposition = if(repeats.place = 1, 'loaded', 'duplicate')
from sacct_repeats as repeats
where repeats.row_id = sacct.rowid and sacct.disposition <> if(repeats.place = 1, 'loaded', 'duplicate');

update raw.sacct set disposition = ruled_out.disposition
from sacct_ruled_out as ruled_out
where ruled_out.row_id = sacct.rowid and sacct.disposition <> ruled_out.disposition;

update raw.sacct set disposition = 'loaded'
where disposition <> 'loaded'
    and rowid not in (select row_id from sacct_repeats union all select row_id from sacct_ruled_out);

drop table sacct_repeats;
drop table sacct_ruled_out;
