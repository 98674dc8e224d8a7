"""The settings: environment variables, the layout of a home, and the cache folder."""
