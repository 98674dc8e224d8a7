{{ lost_hours_by_account() }}
