"""Schema raw: one asset makes all its tables. The files are read in `assets.sources`."""
