"""Schema raw: one thin asset per table; the reading itself is in `assets.sources`."""
