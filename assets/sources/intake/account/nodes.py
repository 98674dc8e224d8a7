"""One host, many spellings: which node of the cluster a name in a log means.

Names differ by case, domain, interface suffix (`-ib0`) and alias. What cannot be resolved is not guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assets.sources.settings import Nodes


def basic_name(name: str, rules: Nodes) -> str:
    """Lower the case, apply the aliases, strip the configured suffixes; the domain of a name without alias stays."""
    aliases = {spelled.lower(): meant.lower() for spelled, meant in rules.aliases.items()}
    name = _meant_name(name.strip().lower(), aliases)
    host, dot, domain = name.partition(".")
    for suffix in sorted(map(str.lower, rules.strip_suffixes), key=len, reverse=True):
        if name.endswith(suffix) and len(name) > len(suffix):
            name = name[: -len(suffix)]
            break
        if dot and host.endswith(suffix) and len(host) > len(suffix):
            name = host[: -len(suffix)] + dot + domain
            break
    return _meant_name(name, aliases)


def _meant_name(name: str, aliases: Mapping[str, str]) -> str:
    return aliases.get(name) or aliases.get(name.partition(".")[0], name)


class NodeNames:
    """The nodes of a cluster and the way from any spelling to one of them.

    Parameters
    ----------
    declared
        Names the cluster itself uses: node lists of accounting and inventory. When there are none nothing can be
        judged unknown, and every name means itself.
    rules
        Aliases and suffixes of `cluster.toml`.
    """

    def __init__(self, declared: Iterable[str], rules: Nodes) -> None:
        self._rules = rules
        basic = {basic_name(name, rules) for name in declared}
        self.node_ids = {self._without_domain(name, basic) for name in basic}
        by_host: dict[str, set[str]] = {}
        for node_id in self.node_ids:
            by_host.setdefault(node_id.partition(".")[0], set()).add(node_id)
        self._by_host = {host: next(iter(ids)) for host, ids in by_host.items() if len(ids) == 1}

    @staticmethod
    def _without_domain(name: str, known: set[str]) -> str:
        host = name.partition(".")[0]
        return host if host in known else name

    def resolve(self, name: str) -> str | None:
        """Return the node a spelling means, or None when it is no node of this cluster.

        A name without a domain also finds the only node of that host name, for clusters whose node names have one.
        """
        basic = basic_name(name, self._rules)
        if not self.node_ids or basic in self.node_ids:
            return basic
        host = basic.partition(".")[0]
        if host in self.node_ids:
            return host
        return self._by_host.get(host) if basic == host else None
