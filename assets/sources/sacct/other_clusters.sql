delete from sacct_aside using sacct_of_others as others
where others.file_id = sacct_aside.file_id and others.line_number = sacct_aside.line_number;

delete from sacct_repaired using sacct_of_others as others
where others.file_id = sacct_repaired.file_id and others.line_number = sacct_repaired.line_number;

insert into sacct_aside (file_id, line_number, reason) select *, 'other_cluster' from sacct_of_others
