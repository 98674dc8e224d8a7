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


def sums_to_one(column: str, where: str = "true") -> Expectation:
    """Make sure that the shares of a cluster that has rows sum to 1; where all are NULL nothing can be said.

    Parameters
    ----------
    column
        The share.
    where
        The rows that share the whole.
    """
    query = f"""
        select cluster_id, concat(cluster_id, ': ', column_total) as finding
        from (
            select cluster_id, sum({column}) as column_total
            from {{batch}}
            where {where}
            group by cluster_id
        )
        where abs(column_total - 1) > 1e-6
        order by cluster_id
    """
    return no_finding(f"{column}_sums_to_1", query, f"{column} sums to 1 in every cluster")
