"""Rules of `faultline export --public`: the columns that it leaves out, and the SQL for hidden cells."""
