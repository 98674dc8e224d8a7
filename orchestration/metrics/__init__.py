"""Metrics for Prometheus: what readers see, and how the pipeline does."""
