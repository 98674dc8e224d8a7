-- A log that is written for a year is not clean: 15 of 10,000 lines are followed by another or are damaged.
create macro damaged(line, number) as case
    when number % 10000 < 10 then [line, line]
    when number % 10000 < 12 then [line, '']
    when number % 10000 < 14 then [line[:length(line) // 2]]
    when number % 10000 < 15 then [line[:length(line) // 2] || chr(233) || line[length(line) // 2 + 1:]]
    else [line]
end;
