create or replace temp table {{ into }}_anchors as
with stamped as ({{ stamped }}),
file_sizes as (select file_id, 1 + count(*) // {{ anchors_per_file }} as spacing from lines group by file_id)
select
    stamped.file_id,
    stamped.line_number // file_sizes.spacing as block,
    min(stamped.line_number) as line_number,
    count(*) as line_count,
    bool_or(starts_with(stamped.stamp, 'Feb 29')) as has_leap_day,
    {{ leap_year_time }} as leap_year_time
from stamped
join file_sizes on file_sizes.file_id = stamped.file_id
group by stamped.file_id, block;

create or replace temp table {{ into }}_turns as
with steps as (
    select
        *,
        date_diff('second', lag(leap_year_time) over in_file, leap_year_time) / 86400.0 as step_days
    from {{ into }}_anchors
    where leap_year_time is not null
    window in_file as (partition by file_id order by line_number)
),
turns as (
    select
        *,
        coalesce(sum(
            case when step_days < -{{ backward_days }} then 1 when step_days > 330 then -1 else 0 end
        ) over (partition by file_id order by line_number rows between 1 following and unbounded following), 0)::integer
            as turns_after,
        last_value(leap_year_time) over (
            partition by file_id order by line_number rows between unbounded preceding and unbounded following
        ) as last_leap_year_time
    from steps
),
references_ as (
    select file_id, coalesce({{ named_moment }}, modified_at) + interval {{ days_after_date }} day as latest
    from batch_files
)
select
    turns.*,
    year(references_.latest) - {{ leap_year }}
    - (strftime(last_leap_year_time, '%m%d%H%M%S') > strftime(references_.latest, '%m%d%H%M%S'))::integer as last_shift,
    last_leap_year_time + to_years(last_shift::integer)
    > references_.latest - interval {{ days_after_date + days_before_date }} day as is_of_file_date,
    last_shift - turns_after as shift
from turns
join references_ on references_.file_id = turns.file_id;

-- All leap days of a file are of years with the same remainder, or some clock was wrong.
create or replace temp table {{ into }} as
with leap_days as (
    select file_id, min((shift % 4 + 4) % 4) as years_back
    from {{ into }}_turns
    where has_leap_day and not is_of_file_date
    group by file_id
    having count(distinct (shift % 4 + 4) % 4) = 1
)
select
    turns.file_id,
    turns.line_number,
    turns.leap_year_time + to_years((turns.shift - coalesce(leap_days.years_back, 0))::integer) as year_anchor
from {{ into }}_turns as turns
left join leap_days on leap_days.file_id = turns.file_id;

insert into undated_logs by name
with days as (
    select
        turns.file_id,
        anchors.year_anchor::date as day_date,
        sum(turns.line_count)::bigint as line_count,
        bool_or(turns.is_of_file_date) as is_of_file_date,
        bool_or(turns.has_leap_day) as has_leap_day
    from {{ into }}_turns as turns
    join {{ into }} as anchors on anchors.file_id = turns.file_id and anchors.line_number = turns.line_number
    group by turns.file_id, day_date
)
select
    file_id,
    map_from_entries(list((day_date, line_count) order by day_date)) as days,
    bool_or(is_of_file_date) as is_of_file_date,
    bool_or(has_leap_day) as has_leap_day
from days
group by file_id
