"""The report's charts: a frame of display-ready columns in, a Vega-Lite specification out; no SQL, no files."""
