"""Distinct values of accounting fields, read once each in Python and joined back in SQL: far fewer than rows."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

from assets.sources.nodelists import expansion_table
from assets.sources.nodes import basic_name
from assets.sources.python_rows import put
from assets.sources.reading import Step
from assets.sources.sacct_sql import TEXTS
from assets.sources.sacct_values import (
    ValueProblem,
    read_duration,
    read_exclusions,
    read_memory,
    read_state,
    read_tres,
)
from assets.sources.settings import ClusterSettings


def _distinct(con: duckdb.DuckDBPyConnection, *fields: str) -> list[str]:
    union = " union ".join(
        f"select {TEXTS[field]} as text from sacct_texts where outcome = 'attempt'" for field in fields
    )
    return [row[0] for row in con.execute(f"select distinct text from ({union}) where text is not null").fetchall()]


def _distinct_durations(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Give the durations that no plain number makes superfluous."""
    wanted = {
        "Suspended": "true",
        "Elapsed": f"{TEXTS['ElapsedRaw']} is null",
        "Timelimit": f"{TEXTS['TimelimitRaw']} is null",
    }
    union = " union ".join(
        f"select {TEXTS[field]} as text from sacct_texts where {TEXTS[field]} is not null and {condition}"
        for field, condition in wanted.items()
    )
    return [row[0] for row in con.execute(union).fetchall()]


def lookup_step(cluster: ClusterSettings) -> Step:
    """Give the step that makes the lookup tables of `sacct_texts`, and keeps new node lists in `raw.node_lists`."""

    def look_up(con: duckdb.DuckDBPyConnection) -> None:
        states = [_state_row(text) for text in _distinct(con, "State")]
        put(
            con, "sacct_states",
            "text varchar, state varchar, cancelled_by_uid bigint, was_cut boolean, problem varchar", states,
        )  # fmt: skip
        tres = [_tres_row(text) for text in _distinct(con, "AllocTRES", "ReqTRES")]
        put(
            con, "sacct_tres",
            "text varchar, gpu_count bigint, gpu_count_source varchar, gpu_type varchar, cpu_count bigint, "
            "problem varchar, detail varchar", tres,
        )  # fmt: skip
        durations = [(text, read_duration(text)) for text in _distinct_durations(con)]
        put(con, "sacct_durations", "text varchar, seconds bigint", durations)
        memory = [(text, read_memory(text)) for text in _distinct(con, "ReqMem")]
        put(con, "sacct_memory", "text varchar, mib double, per varchar", [(t, m.mib, m.per) for t, m in memory])
        _expand_node_lists(con, cluster)
        _read_exclusions(con, cluster)

    return look_up


def _state_row(text: str) -> tuple[Any, ...]:
    try:
        state = read_state(text)
    except ValueProblem as problem:
        return text, None, None, False, problem.reason
    return text, state.name, state.cancelled_by_uid, state.was_cut, None


def _tres_row(text: str) -> tuple[Any, ...]:
    try:
        tres = read_tres(text)
    except ValueProblem as problem:
        return text, None, "none", None, None, problem.reason, str(problem)
    return text, tres.gpu_count, tres.gpu_count_source, tres.gpu_type, tres.cpu_count, None, None


def _expand_node_lists(con: duckdb.DuckDBPyConnection, cluster: ClusterSettings) -> None:
    """Make `sacct_node_lists`, and keep the new lists in `raw.node_lists` so that no list is ever expanded twice."""
    con.execute(
        f"""
        create or replace temp table sacct_printed_lists as
        select {TEXTS["NodeList"]} as node_list from sacct_texts where {TEXTS["NodeList"]} is not null
        union
        select {TEXTS["FailedNode"]} from sacct_texts where {TEXTS["FailedNode"]} is not null
        """
    )
    con.execute(
        """
        create or replace temp table sacct_node_lists as
        select node_list, node_names, node_ids, null::varchar as problem, null::varchar as problem_detail
        from raw.node_lists
        where cluster_id = ? and node_list in (select node_list from sacct_printed_lists)
        """,
        [cluster.cluster_id],
    )
    new = con.execute(
        "select node_list from sacct_printed_lists where node_list not in (select node_list from sacct_node_lists)"
    ).fetchall()
    rules = cluster.settings.nodes
    memo: dict[str, str] = {}

    def node_id(name: str) -> str:
        if name not in memo:
            memo[name] = basic_name(name, rules)
        return memo[name]

    expanded = expansion_table([row[0] for row in new])
    ids = [None if names is None else [node_id(name) for name in names] for names in expanded["node_names"].to_pylist()]
    con.register("expanded_node_lists", expanded.append_column("node_ids", pa.array(ids, pa.list_(pa.string()))))
    try:
        con.execute("insert into sacct_node_lists by name select * from expanded_node_lists")
        con.execute(
            """
            insert into raw.node_lists by name
            select $cluster_id as cluster_id, node_list, node_names, node_ids
            from expanded_node_lists where len(node_names) > 0
            """,
            {"cluster_id": cluster.cluster_id},
        )
    finally:
        con.unregister("expanded_node_lists")


def _read_exclusions(con: duckdb.DuckDBPyConnection, cluster: ClusterSettings) -> None:
    text = TEXTS["SubmitLine"]
    lines = con.execute(
        f"select distinct {text} from sacct_texts where contains({text}, ' -x') or contains({text}, ' --exclude')"
    ).fetchall()
    read = [(line, read_exclusions(line)) for (line,) in lines]
    lists = sorted({one for _, found in read for one in found})
    names = dict(zip(lists, expansion_table(lists)["node_names"].to_pylist(), strict=True))
    rules = cluster.settings.nodes
    rows = []
    for line, found in read:
        excluded = [basic_name(name, rules) for one in found for name in names[one] or ()]
        if excluded:
            rows.append((line, list(dict.fromkeys(excluded))))
    put(con, "sacct_exclusions", "text varchar, node_ids varchar[]", rows)
