"""What readers see: folders of publications, the switch between them, permissions, the last good rows."""
