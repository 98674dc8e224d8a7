-- The first and last moment of each file, from its lines or else from its name; by lines with and without a year.
create or replace temp table times_of_lines as
select file_id, has_no_year, min(first_at) as first_at, max(last_at) as last_at
from (
    select batch_files.file_id, {{ has_no_year }} as has_no_year, {{ first }} as first_at, {{ last }} as last_at
    from raw.{{ table }} as kept
    inner join batch_files on batch_files.path = kept.path and batch_files.cluster_id = kept.cluster_id
    group by batch_files.file_id, has_no_year
    union all
    select file_id, has_no_year, min(stated_at), max(stated_at) from stated_times group by file_id, has_no_year
)
group by file_id, has_no_year;

create or replace temp table covered_times as
select
    batch_files.file_id,
    coalesce(min(times.first_at), {{ named_moment }}) as first_at,
    coalesce(max(times.last_at), {{ named_end }}) as last_at
from batch_files left join times_of_lines as times on times.file_id = batch_files.file_id
group by batch_files.file_id, batch_files.path;

insert into ops.years by name
select
    batch_files.cluster_id, batch_files.path, logs.days, logs.is_of_file_date, logs.has_leap_day,
    undated.first_at, undated.last_at, others.first_at as others_first_at, others.last_at as others_last_at,
    0 as years_back
from undated_logs as logs
inner join batch_files on batch_files.file_id = logs.file_id
left join times_of_lines as undated on undated.file_id = logs.file_id and undated.has_no_year
left join times_of_lines as others on others.file_id = logs.file_id and not others.has_no_year
