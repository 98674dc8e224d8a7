{# Lines that are withheld from the reader, each with the first reason that applies. #}
{% macro others() %}
(from lines anti join aside_lines using (file_id, line_number)) as lines
{% endmacro %}
{% macro is_odd() %}
case
    when regexp_matches(line, {{ ("[" ~ odd ~ "]") | literal }})
    then length(line) - length(regexp_replace(line, {{ ("[" ~ odd ~ "]") | literal }}, '', 'g')) > {{ max_odd_share }} * length(line)
    else false
end
{% endmacro %}
insert into aside_lines
select lines.*, {{ cut_lines | literal }}, {{ cut_detail | literal }}
from lines
inner join file_warnings
    on file_warnings.file_id = lines.file_id and file_warnings.warning = {{ cut_lines | literal }}
where ends_with(lines.line, {{ mark | literal }});

-- Lines that a translation skipped have no detail.
insert into aside_lines
select lines.*, aside.reason, aside.detail
from {{ others() }} inner join translated_aside as aside using (file_id, line_number);

insert into aside_lines
select lines.*, 'truncated_record', 'the archive is cut off here'
from {{ others() }}
inner join batch_files on batch_files.file_id = lines.file_id and batch_files.is_cut
inner join file_lines on file_lines.file_id = lines.file_id and file_lines.last_line = lines.line_number;

-- Lines that are not text, in files with bytes that are not text. A short line between two of them is not text either.
insert into aside_lines
select found.*, 'not_text', 'bytes of something else than text'
from (
    select file_id, line_number, line
    from (
        select *, coalesce({{ is_odd() }}, false) as is_odd
        from lines
        where line is not null and file_id in (
            select file_id
            from lines inner join file_warnings using (file_id)
            where warning = {{ bad_bytes | literal }} and {{ is_odd() }}
        )
    )
    qualify is_odd or (
        length(line) < {{ short }}
        and lag(is_odd) over (partition by file_id order by line_number)
        and lead(is_odd) over (partition by file_id order by line_number)
    )
) as found anti join aside_lines using (file_id, line_number)
