"""Whether the failure rate per node depends on the size of the job."""
