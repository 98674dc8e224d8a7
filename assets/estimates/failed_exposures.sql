-- Attempts that infrastructure may have failed, and those that the paper counts as failed: a few thousand of millions.
select * from marts.fct_attempt_exposures
where failure_probability > 0 or is_paper_failure
