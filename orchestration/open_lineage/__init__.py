"""Lineage for other programs: a refresh as OpenLineage events, to a file or to an address."""
