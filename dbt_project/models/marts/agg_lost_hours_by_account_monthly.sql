{{ lost_hours_by(['cluster_id', 'month_date', 'account', 'user_name']) }}
