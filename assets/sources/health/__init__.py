"""Results of health checks: GCM records and NHC logs."""
