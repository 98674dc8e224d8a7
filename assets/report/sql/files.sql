-- Every input file with its line counts. One row per file.
select * from ops.files
order by cluster_id, kind, path
