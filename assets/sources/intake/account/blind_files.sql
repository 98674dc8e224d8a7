{# Files of a batch with fewer than half of their lines understood, with the reason. #}
with judged as (
    {% if is_sampled %}
    select file_id, sum(weight) as line_count, sum(weight) filter (is_understood) as understood_count
    from (
        select sampled_lines.*, understood.file_id is not null as is_understood
        from sampled_lines
        left join (
            select file_id, line_number from stated_times
            {% if come_from_nodes %}
            where node_name is not null
            {% endif %}
            union
            from loaded_lines
        ) as understood using (file_id, line_number)
        where weight > 0
    )
    group by file_id
    {% else %}
    -- The words of a check stand next to the record that says the same. Words alone name no node.
    select
        file_id, understood_count,
        if(understood_count = 0, lines_in, understood_count + bad_count) as line_count
    from (
        select file_id, sum(understood_count) as understood_count, sum(bad_count) as bad_count
        from (
            select file_id, 0 as understood_count, 0 as bad_count from file_lines
            union all
            select file_id, count(*), 0 from loaded_lines group by file_id
            union all
            select file_id, line_count, 0 from skip_counts where reason = 'unchanged'
            union all
            select file_id, count(*), 0 from stated_times group by file_id
            union all
            select file_id, 0, count(*) from all_quarantined group by file_id
        )
        group by file_id
    )
    inner join file_lines using (file_id)
    {% endif %}
)
select
    file_id,
    format(
        'blind: time and host were read of {}{:,} of {:,} lines',
        if(line_count > 64, 'about ', ''), coalesce(understood_count, 0)::bigint, line_count::bigint
    )
from judged
where coalesce(understood_count, 0) < line_count / 2
