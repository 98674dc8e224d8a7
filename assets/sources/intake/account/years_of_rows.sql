{# Times of rows by the date of their file, moved back by `years_back`. #}
update raw.{{ table }} set {{ time }} = settled.settled_at
from (
    select *, case when years_back = 0 then dated_by_file_at else {{ utc }} end as settled_at
    from (
        select {{ table }}.rowid as row_key, dated_by_file_at, years_back, {{ local }} - to_years(years_back) as local_time
        from raw.{{ table }} inner join settled_years using (cluster_id, path)
        where dated_by_file_at is not null and zone = {{ zone | literal }}
    )
) as settled
where settled.row_key = {{ table }}.rowid
