"""Rules on shares of a raw table: one odd row is no news, most rows being odd means something was misread."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import no_finding

MAX_UNKNOWN_NODE_SHARE = 0.5


def mostly_known_nodes(where: str = "true") -> Expectation:
    """Warn when most rows of a cluster name hosts that are not its nodes: then names need an alias or a suffix rule.

    Parameters
    ----------
    where
        The rows that concern a node.
    """
    query = f"""
        select cluster_id, concat(
            cluster_id, ': ', count(*) filter (disposition = 'unknown_node'), ' of ', count(*),
            ' rows name unknown nodes, such as ', min(node_name) filter (disposition = 'unknown_node'),
            '; see [nodes] in cluster.toml'
        ) as finding
        from {{batch}}
        where {where}
        group by cluster_id
        having count(*) filter (disposition = 'unknown_node') > {MAX_UNKNOWN_NODE_SHARE} * count(*)
        order by cluster_id
    """
    return no_finding("nodes_known", query, "most rows name nodes of the cluster", warns=True)
