"""Snapshots of jobs: which nodes a job excludes."""
