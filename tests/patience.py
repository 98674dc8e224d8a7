"""How long tests wait where no time is measured: a loaded machine is ten times slower than usual."""

PATIENCE_SECONDS = 120
"""A wait that ends with an error after this time. Nothing takes this long that works."""
