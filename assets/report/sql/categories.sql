-- Kinds of failure in the order in which evidence is judged. One row per kind.
select * from marts.dim_failure_categories order by priority nulls last, failure_category
