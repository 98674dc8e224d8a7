"""What readers see: publications, the switch between them, whether they are up to date, last good rows."""
