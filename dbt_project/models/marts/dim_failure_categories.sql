with

failure_categories as (

    select * from {{ ref('failure_categories') }}

)

select
    failure_category,
    label,
    is_user_program,
    is_system_software,
    is_hardware,
    is_table_one,
    is_cause,
    is_infrastructure,
    is_shared_infrastructure,
    priority,
    likely_causes
from failure_categories
