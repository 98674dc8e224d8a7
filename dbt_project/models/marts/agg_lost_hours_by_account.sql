{{ lost_hours_by(['cluster_id', 'account', 'user_name']) }}
