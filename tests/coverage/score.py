"""Hold a refreshed home against what was planted: `python -m tests.coverage.score HOME`.

*Precision* and *recall* are of attempts in state FAILED or REQUEUED: NODE_FAIL needs no attribution. Recall is over
failures by a fault of which a check or a kernel line inside the attribution window tells.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, fields
from pathlib import Path

import duckdb
import pandas as pd

PUBLISHED = Path("warehouse") / "faultline.duckdb"

FAILURES = """
select
    attempts.cluster_id,
    attempts.job_id_raw,
    cast(epoch(attempts.started_at) as bigint) as started,
    nodes.node_name as culprit_node,
    failures.is_attributed,
    {probability} as posterior_probability
from marts.fct_failures as failures
join marts.fct_attempts as attempts using (cluster_id, attempt_id)
left join marts.dim_nodes as nodes
    on nodes.cluster_id = failures.cluster_id and nodes.node_id = failures.culprit_node_id
"""

RATES = """
select
    cluster_id,
    population,
    counted_as,
    failures_per_1000_node_days as rate,
    failures_per_1000_node_days_low as low,
    failures_per_1000_node_days_high as high
from estimates.est_failure_rates
where is_reference
"""


@dataclass(frozen=True)
class Score:
    """One cluster's counts; pooled ones are sums."""

    cluster_id: str
    hard_hits: int
    hard_names: int
    hard_found: int
    hits: int
    names: int
    found: int
    evident: int
    culprit_hits: int
    culprits: int

    def __add__(self, other: Score) -> Score:
        counts = [getattr(self, f.name) + getattr(other, f.name) for f in fields(self)[1:]]
        return Score("pooled", *counts)


def share(part: float, whole: float) -> float:
    """Return a share, `nan` of nothing."""
    return part / whole if whole else float("nan")


def planted_attempts(home: Path) -> pd.DataFrame:
    """Return the attempts of all clusters as they truly were, one row each."""
    frames = []
    for path in sorted((home / "truth").glob("*.json")):
        truth = json.loads(path.read_text())
        frames.append(pd.DataFrame(truth["attempts"]).assign(cluster_id=truth["cluster_id"]))
    return pd.concat(frames, ignore_index=True)


def planted_rates(home: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Return the rates by cluster and population."""
    truths = [json.loads(path.read_text()) for path in sorted((home / "truth").glob("*.json"))]
    return {truth["cluster_id"]: truth["planted_per_1000_node_days"] for truth in truths}


def read(home: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the published failures and reference rates."""
    with duckdb.connect(str(home / PUBLISHED), read_only=True) as con:
        columns = {row[0] for row in con.execute("select column_name from (describe marts.fct_failures)").fetchall()}
        probability = "failures.posterior_probability" if "posterior_probability" in columns else "1.0"
        return con.execute(FAILURES.format(probability=probability)).df(), con.execute(RATES).df()


def scores(home: Path) -> list[Score]:
    """Return one score per cluster."""
    published, _ = read(home)
    keys = ["cluster_id", "job_id_raw", "started"]
    joined = planted_attempts(home).merge(published, on=keys, how="outer", indicator=True)
    lost = joined[joined["_merge"] == "right_only"]
    if len(lost):
        raise SystemExit(f"{len(lost)} published failures are of no attempt that was planted: {lost[keys].head(3)}")
    return [_score(str(cluster), rows) for cluster, rows in joined.groupby("cluster_id")]


def _score(cluster: str, rows: pd.DataFrame) -> Score:
    rows = rows[rows["state"].isin(["FAILED", "REQUEUED"])]
    is_true = rows["fault"].notna()
    is_hard = rows["_merge"] == "both"
    is_named = is_hard & (rows["posterior_probability"] >= 0.5)
    is_evident = rows["left_evidence"].astype(bool)
    found = rows[is_named & is_true & (rows["node_count"] > 1)]
    right = [culprit in struck for culprit, struck in zip(found["culprit_node"], found["nodes_struck"], strict=True)]
    return Score(
        cluster_id=cluster,
        hard_hits=int((is_hard & is_true).sum()),
        hard_names=int(is_hard.sum()),
        hard_found=int((is_hard & is_evident).sum()),
        hits=int((is_named & is_true).sum()),
        names=int(is_named.sum()),
        found=int((is_named & is_evident).sum()),
        evident=int(is_evident.sum()),
        culprit_hits=sum(right),
        culprits=len(right),
    )


def lines(home: Path) -> list[str]:
    """Return the table that the command prints."""
    single_scores = scores(home)
    pooled = sum(single_scores[1:], single_scores[0])
    rates, truth = read(home)[1].set_index("cluster_id"), planted_rates(home)
    rows = [
        f"{'cluster':<12}{'hard rule':>14}{'posterior':>14}{'of':>6}{'culprits':>10}   planted r_f in published limits",
        f"{'':<12}{'prec':>7}{'rec':>7}{'prec':>7}{'rec':>7}",
    ]
    inside = 0
    for score in [*single_scores, pooled]:
        text = (
            f"{score.cluster_id:<12}"
            f"{share(score.hard_hits, score.hard_names):>7.2f}{share(score.hard_found, score.evident):>7.2f}"
            f"{share(score.hits, score.names):>7.2f}{share(score.found, score.evident):>7.2f}"
            f"{score.evident:>6}{share(score.culprit_hits, score.culprits):>10.2f}"
        )
        if score.cluster_id in rates.index:
            rate = rates.loc[score.cluster_id]
            # Whole nodes and nodes are struck as often as what all attempts together hold.
            rates_planted = truth[score.cluster_id]
            planted = rates_planted.get(rate["population"], rates_planted["all"])
            is_inside = bool(rate["low"] <= planted["visible_rate"] <= rate["high"])
            inside += is_inside
            text += (
                f"   {planted['visible_rate']:.2f} (came out {planted['observed_rate']:.2f}) "
                f"{'in' if is_inside else 'NOT IN'} {rate['rate']:.2f} ({rate['low']:.2f} to {rate['high']:.2f}), "
                f"{rate['population']} by {rate['counted_as']}"
            )
        else:
            text += f"   inside in {inside} of {len(rates)}"
        rows.append(text)
    return rows


def main() -> None:
    """Read the command line and print the scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    print("\n".join(lines(parser.parse_args().home)))


if __name__ == "__main__":
    main()
