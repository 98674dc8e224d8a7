"""Alerts: events, channels, and a record that each event is sent once."""
