"""Fit for each cluster which evidence ended each attempt, by assets/model/attribution.

Rows are sorted first, so that the same logs give the same numbers in any order of DuckDB's threads.
"""

from typing import Any

import numpy as np
import pandas as pd

from assets.model.attribution.evidence import (
    FAMILIES,
    LAG_EDGES,
    PERSISTENCE,
    Controls,
    Episodes,
    Strata,
    Suspects,
)
from assets.model.attribution.posterior import DRAWS, attribute

SEED = 20_241_029
"""Seed of every cluster's draws. Renaming a cluster changes no number."""
BEFORE_END = {
    -30.0: "last_half_minute_seconds",
    -120.0: "last_two_minutes_seconds",
    -300.0: "last_five_minutes_seconds",
}
"""Map each border of `LAG_EDGES` to the column of `int_control_windows` with the time between it and the end."""
EPISODE_KEY = ["cluster_id", "attempt_id", "node_id", "episode_number"]


def model(dbt: Any, session: Any) -> pd.DataFrame:
    """Return one row per suspected attempt, episode and draw of the parameters; draw 0 is the estimate itself."""
    dbt.config(materialized="table")
    episodes = dbt.ref("int_attribution_episodes").filter("event_rank = 1").df().sort_values(EPISODE_KEY)
    strata = dbt.ref("int_attribution_strata").df().sort_values(["cluster_id", "stratum"])
    windows = dbt.ref("int_control_windows").df().sort_values(["cluster_id", "node_id"])
    at_rest = dbt.ref("int_harmless_event_counts").df().sort_values(["cluster_id", "node_id", "check_key"])
    clusters = dbt.ref("stg_config__clusters").df().sort_values("cluster_id")
    parts = [
        fitted(
            settings,
            *(frame[frame["cluster_id"] == settings.cluster_id] for frame in (episodes, strata, windows, at_rest)),
        )
        for settings in clusters.itertuples()
    ]
    return pd.concat([nothing(), *(part for part in parts if len(part))], ignore_index=True)


def nothing() -> pd.DataFrame:
    """Return the table without a row."""
    columns = {
        "cluster_id": "str",
        "attempt_id": "str",
        "node_id": "str",
        "episode_number": "int64",
        "draw": "int64",
        "probability": "float64",
    }
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in columns.items()})


def fitted(
    settings: Any, episodes: pd.DataFrame, strata: pd.DataFrame, windows: pd.DataFrame, at_rest: pd.DataFrame
) -> pd.DataFrame:
    """Fit one cluster, with a number for every name."""
    suspected = episodes[~episodes["is_control"]]
    if suspected.empty:
        return nothing()
    control = episodes[episodes["is_control"]]
    numbers = {"check_key": pd.Index(sorted(set(episodes["check_key"]) | set(at_rest["check_key"])))}
    numbers["node_id"] = pd.Index(sorted({*windows["node_id"], *episodes["node_id"], *at_rest["node_id"]}))
    attempts = suspected.drop_duplicates("attempt_id")
    numbers["attempt_id"] = pd.Index(attempts["attempt_id"])
    stratum_names = pd.Index(strata["stratum"])
    found = attribute(
        suspects=Suspects(
            stratum_names.get_indexer(attempts["stratum"]),
            attempts["node_count"].to_numpy(dtype=float),
            attempts["runtime_seconds"].to_numpy(dtype=float),
            moments(attempts["started_at"]),
            moments(attempts["ended_at"]),
        ),
        episodes=numbered(suspected, numbers),
        strata=Strata(
            strata["attempt_count"].to_numpy(dtype=float),
            strata["node_seconds"].to_numpy(dtype=float),
            pd.factorize(strata["state"])[0].astype(np.int64),
        ),
        controls=controls(windows, at_rest, numbers),
        control_episodes=numbered(control, numbers),
        before_seconds=settings.attribution_before_seconds,
        after_seconds=settings.attribution_after_seconds,
        generator=np.random.default_rng(SEED),
    )
    probability = np.vstack([found.probability, found.draws]).round(9)
    rows = np.tile(np.arange(len(suspected)), DRAWS + 1)
    table = suspected[EPISODE_KEY].iloc[rows].reset_index(drop=True)
    return table.assign(draw=np.repeat(np.arange(DRAWS + 1), len(suspected)), probability=probability.ravel())


def numbered(episodes: pd.DataFrame, numbers: dict[str, pd.Index]) -> Episodes:
    """Turn names into the numbers that the model takes."""
    return Episodes(
        attempt=numbers["attempt_id"].get_indexer(episodes["attempt_id"]),
        check=numbers["check_key"].get_indexer(episodes["check_key"]),
        family=pd.Index(FAMILIES).get_indexer(episodes["family"]),
        persistence=pd.Index(PERSISTENCE).get_indexer(episodes["persistence"]),
        lag_seconds=episodes["lag_seconds"].to_numpy(dtype=float),
        has_companion=episodes["has_companion"].to_numpy(dtype=bool),
        is_drained=episodes["is_withdrawn"].to_numpy(dtype=bool),
        node=numbers["node_id"].get_indexer(episodes["node_id"]),
        observed_at=moments(episodes["observed_at"]),
        is_explained=episodes["is_explained"].to_numpy(dtype=bool),
    )


def moments(times: pd.Series) -> np.ndarray:
    """Turn timestamps into seconds since 1970."""
    return times.astype("datetime64[us]").astype("int64").to_numpy() / 1e6


def controls(windows: pd.DataFrame, at_rest: pd.DataFrame, numbers: dict[str, pd.Index]) -> Controls:
    """Return the windows of completed attempts in the order of the nodes, with 0 for a node without any."""
    nodes, checks = numbers["node_id"], numbers["check_key"]
    known = windows.set_index("node_id").reindex(nodes)
    seconds = known.drop(columns=["cluster_id"]).fillna(0.0).astype(float)
    after = windows["after_seconds"].sum()
    count = windows["window_count"].sum()
    within = [seconds[BEFORE_END[edge]].sum() for edge in LAG_EDGES if edge < 0]
    before = -np.diff([seconds["before_seconds"].sum(), *within, 0.0])
    length = after / count if count else 0.0
    edges = [0.0, *(edge for edge in LAG_EDGES if edge > 0), np.inf]
    behind = count * np.diff(np.minimum(edges, length))
    gpu_counts = known["node_gpu_count"].fillna(-1)
    return Controls(
        node_seconds=(seconds["before_seconds"] + seconds["after_seconds"]).to_numpy(),
        node_class=pd.factorize(gpu_counts, sort=True)[0].astype(np.int64),
        lag_seconds=np.concatenate([before, behind]),
        rest_node=nodes.get_indexer(at_rest["node_id"]),
        rest_check=checks.get_indexer(at_rest["check_key"]),
        rest_count=at_rest["event_count"].to_numpy(dtype=float),
    )
