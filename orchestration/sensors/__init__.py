"""The sensors of Dagster's daemon: one starts a refresh, the others alert."""
