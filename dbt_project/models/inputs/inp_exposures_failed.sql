select * from {{ ref('fct_attempt_exposures') }}
where failure_probability > 0 or is_paper_failure
