"""Distinct values of accounting records: collected in one pass, each read once in Python, joined back in SQL.

They are far fewer than rows. The table `sacct_values` holds them in one row of lists.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache, lru_cache, partial
from typing import Any

import duckdb
import pyarrow as pa

from assets.sources.intake.account.node_names import basic_name
from assets.sources.reader import Step
from assets.sources.sacct.columns import TEXTS
from assets.sources.sacct.values import (
    JOB_SUMMARY,
    OPEN_STATES,
    ValueProblem,
    read_duration,
    read_exclusions,
    read_gpu_utilisation,
    read_memory,
    read_state,
    read_tres,
)
from assets.sources.settings import ClusterSettings
from assets.sources.temp_tables import TempTable
from assets.sources.text import times
from assets.sources.text.nodelists import EXPANSION, LARGE, NodeListError, Printed, expand, expansions
from assets.sql import fill, literal

MOMENTS = ("Submit", "Eligible", "Start", "End")

MAX_EXCLUDED = 5_000_000
"""Most names in the exclusions of a batch; further exclusions are unknown."""
_TEXTS = {
    "states": ("State", "true"),
    "allocated": ("AllocTRES", "true"),
    "requested": ("ReqTRES", "true"),
    "memory": ("ReqMem", "true"),
    "suspended": ("Suspended", "true"),
    # A plain number makes the duration in the other column superfluous.
    "elapsed": ("Elapsed", f"{TEXTS['ElapsedRaw']} is null"),
    "time_limits": ("Timelimit", f"{TEXTS['TimelimitRaw']} is null"),
    "node_lists": ("NodeList", "true"),
    "failed_nodes": ("FailedNode", "true"),
    "summaries": ("AdminComment", f"starts_with({TEXTS['AdminComment']}, {literal(JOB_SUMMARY)})"),
}
"""Lists of distinct texts, each with its field and the records that count."""
STATES = TempTable(
    "sacct_states",
    {
        "text": "varchar",
        "state": "varchar",
        "is_open": "boolean",
        "cancelled_by_uid": "bigint",
        "was_cut": "boolean",
        "problem": "varchar",
    },
)
TRES = TempTable(
    "sacct_tres",
    {
        "text": "varchar",
        "gpu_count": "integer",
        "gpu_count_source": "varchar",
        "gpu_type": "varchar",
        "cpu_count": "integer",
        "problem": "varchar",
        "detail": "varchar",
    },
)
DURATIONS = TempTable("sacct_durations", {"text": "varchar", "seconds": "bigint"})
MEMORY = TempTable("sacct_memory", {"text": "varchar", "mib": "double", "per": "varchar"})
EXCLUSIONS = TempTable("sacct_exclusions", {"text": "varchar", "node_ids": "varchar[]"})
SUMMARIES = TempTable("sacct_summaries", {"text": "varchar", "gpu_utilisation": "double", "is_unreadable": "boolean"})
LOOKUPS = ("suspended", "elapsed", "time_limits", "memory", "failed_nodes", "exclusions", "summaries")
"""Lists that are often empty, as many exports lack these fields or leave them empty."""
EXPANDED = TempTable("expanded_node_lists", {**EXPANSION, "node_ids": "varchar[]"})


def collect_values(texts: str) -> str:
    """Return the query of the row of lists.

    In addition to the texts it lists exclusions, the beginnings of local times (the year and the next character), and
    the names of clusters in each file, NULL for a record without one.

    Parameters
    ----------
    texts
        Records in the columns of `sacct_texts`.
    """
    lists = {name: (TEXTS[field], condition) for name, (field, condition) in _TEXTS.items()}
    lists["exclusions"] = exclusion_text(), "true"
    lists["clusters"] = f"{{'file_id': file_id, 'name': {TEXTS['Cluster']}}}", "true"
    lists |= {f"beginnings_{name}": (f"left({TEXTS[name]}, 5)", f"length({TEXTS[name]}) >= 12") for name in MOMENTS}
    columns = [
        f"coalesce(list(distinct {text}) filter (left_out is null and {condition} and {text} is not null), [])"
        f" as {name}"
        for name, (text, condition) in lists.items()
    ]
    return f"select {', '.join(columns)} from {texts}"


_PLAIN_OPTIONS = r"^[\w./-]+( --[a-z-]+=[\w.,:/=%+@-]*)*? (-x|--exclude)"
_FIRST_EXCLUSION = r"^( (?:-x[= ]?|--exclude[= ])[\w.,\[\]-]+)(?: [!#-&(-\[\]-~]*)*$"
"""Matches the first exclusion among words without quotes."""


def exclusion_text() -> str:
    """Return SQL for the exclusions of a submit line, NULL for none; these have far fewer distinct texts than lines.

    Long options with a value (`--name=value`) before the first exclusion do not change what is excluded, nor does
    anything after the last exclusion.
    """
    text = TEXTS["SubmitLine"]
    first = f"least(nullif(instr({text}, ' -x'), 0), nullif(instr({text}, ' --exclude'), 0))"
    only = f"regexp_extract(substr({text}, {first}), {literal(_FIRST_EXCLUSION)}, 1)"
    behind = f"substr({text}, {first} + length({only}))"
    return f"""case when {_excludes(text)} then
        case when regexp_matches({text}, {literal(_PLAIN_OPTIONS)})
            then '-' || if({_excludes(behind)}, substr({text}, {first}), {only}) else {text} end
    end"""


def _excludes(text: str) -> str:
    return f"(contains({text}, ' -x') or contains({text}, ' --exclude'))"


def _distinct(con: duckdb.DuckDBPyConnection, *names: str) -> list[str]:
    parts = con.execute(f"select {', '.join(names)} from sacct_values").fetchall()
    return list(dict.fromkeys(value for lists in parts for values in lists for value in values))


def beginnings(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the beginnings of all local times: five characters, the year and the next one."""
    return _distinct(con, *(f"beginnings_{n}" for n in MOMENTS))


def years_printed(con: duckdb.DuckDBPyConnection) -> times.Years:
    """Return a range of years that includes all local times, which keeps the SQL of time zones short."""
    years = [int(beginning[:4]) for beginning in beginnings(con)]
    years = [year for year in years if times.FIRST_YEAR <= year <= times.LAST_YEAR]
    return (min(years), max(years)) if years else times.EVER


def filled_lists(con: duckdb.DuckDBPyConnection) -> Collection[str]:
    """Return the `LOOKUPS` that are not empty."""
    counts = ", ".join(f"sum(len({name}))" for name in LOOKUPS)
    ((*lengths,),) = con.execute(f"select {counts} from sacct_values").fetchall()
    return {name for name, length in zip(LOOKUPS, lengths, strict=True) if length}


def lookup_step(cluster: ClusterSettings) -> Step:
    """Return the step that makes the lookup tables from `sacct_values`, and adds new node lists to `raw.node_lists`."""

    def look_up(con: duckdb.DuckDBPyConnection) -> None:
        STATES.fill(con, [_state_row(text) for text in _distinct(con, "states")])
        accelerators = cluster.settings.accelerators.gres
        TRES.fill(con, [_tres_row(text, accelerators) for text in _distinct(con, "allocated", "requested")])
        durations = _distinct(con, "suspended", "elapsed", "time_limits")
        DURATIONS.fill(con, [(text, read_duration(text)) for text in durations])
        memory = [(text, read_memory(text)) for text in _distinct(con, "memory")]
        MEMORY.fill(con, [(text, asked.mib, asked.per) for text, asked in memory])
        SUMMARIES.fill(con, [_summary_row(text) for text in _distinct(con, "summaries")])
        _expand_node_lists(con, cluster)
        _read_exclusions(con, cluster)

    return look_up


def _state_row(text: str) -> tuple[Any, ...]:
    try:
        state = read_state(text)
    except ValueProblem as problem:
        return text, None, None, None, False, problem.reason
    return text, state.name, state.name in OPEN_STATES, state.cancelled_by_uid, state.was_cut, None


def _summary_row(text: str) -> tuple[Any, ...]:
    try:
        return text, read_gpu_utilisation(text), False
    except ValueProblem:
        return text, None, True


def _tres_row(text: str, accelerators: Collection[str]) -> tuple[Any, ...]:
    try:
        tres = read_tres(text, accelerators)
    except ValueProblem as problem:
        return text, None, "none", None, None, problem.reason, str(problem)
    return text, tres.gpu_count, tres.gpu_count_source, tres.gpu_type, tres.cpu_count, None, None


def _expand_node_lists(con: duckdb.DuckDBPyConnection, cluster: ClusterSettings) -> None:
    """Make `sacct_node_lists`, and add new lists to `raw.node_lists`, so that later batches need not expand them.

    A batch that is read in parallel may add the same lists; settling keeps one of each.
    """
    con.execute(
        "create or replace temp table sacct_printed_lists as "
        "select distinct unnest(node_lists || failed_nodes) as node_list from sacct_values"
    )
    con.execute(
        """
        create or replace temp table sacct_node_lists as
        select distinct on (node_list)
            node_list, node_names, node_ids, null::varchar as problem, null::varchar as problem_detail
        from raw.node_lists
        where cluster_id = ? and node_list in (select node_list from sacct_printed_lists) and len(node_names) <= ?
        """,
        [cluster.cluster_id, LARGE],
    )
    new = con.execute("from sacct_printed_lists anti join sacct_node_lists using (node_list)").fetchall()
    for expanded in expansions([node_list for (node_list,) in new], partial(_count_prints, con)):
        ids = _node_ids(expanded["node_names"].combine_chunks(), cluster)
        EXPANDED.create(con)
        EXPANDED.insert(con, expanded.append_column("node_ids", ids))
        con.execute("insert into sacct_node_lists by name select * from expanded_node_lists")
        con.execute(
            """
            insert into raw.node_lists by name
            select $cluster_id as cluster_id, node_list, node_names, node_ids
            from expanded_node_lists as expanded
            where len(node_names) > 0 and (len(node_names) <= $large or not exists (
                from raw.node_lists as kept
                where kept.cluster_id = $cluster_id and kept.node_list = expanded.node_list
            ))
            """,
            {"cluster_id": cluster.cluster_id, "large": LARGE},
        )


def _count_prints(con: duckdb.DuckDBPyConnection, large: list[str]) -> dict[str, Printed]:
    """Return how many records print each large list, and the largest number of nodes that they state."""
    con.execute("set variable sacct_large_lists = ?", [large])
    rows = con.execute(fill("sources/sacct/prints_of_node_lists.sql")).fetchall()
    return {text: Printed(print_count, stated_count) for text, print_count, stated_count in rows}


def _node_ids(lists: pa.ListArray, cluster: ClusterSettings) -> pa.ListArray:
    """Return the node ids of lists of names; each distinct name is converted once."""
    names = lists.values.dictionary_encode()
    ids = [basic_name(name, cluster.settings.nodes) for name in names.dictionary.to_pylist()]
    return pa.ListArray.from_arrays(lists.offsets, pa.array(ids, pa.string()).take(names.indices), mask=lists.is_null())


def _read_exclusions(con: duckdb.DuckDBPyConnection, cluster: ClusterSettings) -> None:
    read = [(text, read_exclusions(text)) for text in _distinct(con, "exclusions")]
    node_id = cache(partial(basic_name, rules=cluster.settings.nodes))
    rows, left = [], MAX_EXCLUDED
    for text, found in sorted(read):
        excluded = list(dict.fromkeys(node_id(name) for node_list in found for name in _excluded_names(node_list)))
        left -= len(excluded)
        if excluded and len(excluded) <= LARGE and left >= 0:
            rows.append((text, excluded))
    EXCLUSIONS.fill(con, rows)


@lru_cache(maxsize=1024)
def _excluded_names(node_list: str) -> tuple[str, ...]:
    """Return the nodes of an exclusion; none if it names very many, as it then says nothing about any of them."""
    try:
        return tuple(expand(node_list, LARGE))
    except NodeListError:
        return ()
