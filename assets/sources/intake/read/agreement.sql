{# What the new lines of a grown file say, beside what was read of it earlier. #}
select
    exists (from resume_lines) as can_go_on,
    (
        select {{ first }} from raw.{{ table }}
        where (cluster_id, path) in (select (cluster_id, path) from read_earlier)
            and line_number >= (select line_number from read_earlier)
            and not list_contains((select left_out from read_earlier), line_number)
    ) as earliest,
    -- The old last time may come from a skipped line. It is kept only if the new part reaches at least that time.
    coalesce(covered.last_at >= read_earlier.last_at, read_earlier.last_at is null)
    and not (exists (from stated_times) and coalesce(covered.first_at < read_earlier.first_at, false)) as times_follow
from covered_times as covered cross join read_earlier
