-- Multiplying by the golden ratio of 2^32 spreads line numbers evenly and, unlike a fixed step, follows no pattern of
-- the lines.
select file_id, line_number, line, if(spread * weight < 4294967296, weight, 0) as weight
from (
    select
        lines.file_id, line_number, line,
        (line_number * 2654435769) % 4294967296 as spread,
        case
            when line_number <= 64 then 1
            when line_number <= 1024 then 16
            else 128
        end as weight,
        line_number <= 2 or line_number > last_line - 2 as is_edge
    from lines
    inner join file_lines on file_lines.file_id = lines.file_id
    where line is not null
)
where is_edge or spread * weight < 4294967296
