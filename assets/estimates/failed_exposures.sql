-- Attempts that may have been failed by infrastructure, and those that the paper counts: a few of all.
select * from marts.fct_attempt_exposures
where failure_probability > 0 or is_paper_failure
