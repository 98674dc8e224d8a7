-- A line has one outcome: with several jobs, it is quarantined whole if one of them is bad.
create or replace temp table squeue_bad_lines as
select
    squeue_rows.file_id,
    squeue_rows.line_number,
    min(case
        when squeue_rows.is_cut and batch_files.dialect = 'gcm_jobs' then 'bad_json'
        when squeue_rows.is_cut then 'field_count'
        when squeue_rows.job_id_raw is null then 'bad_job_id'
        else lists.problem
    end) as reason,
    min(case when not squeue_rows.is_cut then lists.problem_detail end) as detail
from squeue_rows
join batch_files on batch_files.file_id = squeue_rows.file_id
left join squeue_node_lists as lists on lists.node_list = squeue_rows.node_list
where squeue_rows.is_cut or squeue_rows.job_id_raw is null or lists.problem is not null
group by squeue_rows.file_id, squeue_rows.line_number
