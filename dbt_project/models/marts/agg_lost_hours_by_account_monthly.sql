{{ lost_hours_by_account(is_monthly=true) }}
