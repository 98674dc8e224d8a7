"""Metrics for Prometheus: the published numbers and the state of the pipeline."""
