-- The last publication.
select run_id, published_at, code_version from ops.published order by rowid desc limit 1
