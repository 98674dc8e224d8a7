"""Health checks as GCM's file sink writes them: JSON lines, gzip, one file per UTC day.

Every check runs every five minutes, but good results are thinned out, as sites do. A failing check is kept every time
it runs, until the node restarts. A node that is dead or restarting says nothing.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.simulation.logs.conditions import Conditions
from assets.simulation.logs.health_results import AroundJobs, Failing, Results, Routine, Validations, Wordings
from assets.simulation.logs.record import Record
from assets.simulation.profiles import DAY

LEVEL = 3
"""Level of gzip: a sixth more bytes than level 6, in half the time."""
GZIP = 16 + zlib.MAX_WBITS
SOURCES = (Routine, Validations, Failing, AroundJobs)


class Phrases:
    """The parts of lines that repeat: what comes before the job, the node, and what comes after the node."""

    def __init__(self, record: Record, wordings: Wordings) -> None:
        cluster, said = json.dumps(record.profile.cluster_id), wordings.all()
        self._heads = _objects([f'{{"int": {{"result": {wording.result}, "job_id": ' for wording in said])
        self._nodes = _objects([f'"normal": {{"node": {json.dumps(name)}, ' for name in record.node_names])
        self._tails = _objects(
            [
                f'"cluster": {cluster}, "derived_cluster": {cluster}, "health_check": {json.dumps(wording.check)}, '
                f'"type": "{wording.kind}", "_msg": {json.dumps(wording.message)}}}, "tags": {{}}}}\n'
                for wording in said
            ]
        )
        self._epoch = record.epoch

    def lines(self, results: Results, rng: np.random.Generator) -> list[str]:
        """Write results in order of time, with the milliseconds at which each check begins and ends."""
        begun = 1000 * (results.seconds + self._epoch) + rng.integers(20, 950, len(results.seconds))
        took = 1 + rng.exponential(40.0, len(begun)).astype(np.int64)
        order = np.lexsort((results.wordings, results.nodes, begun))
        begun, took, said = begun[order], took[order], results.wordings[order]
        numbers = (results.jobs[order], *np.divmod(begun, 1000), *np.divmod(begun + took, 1000))
        texts = (self._heads[said], self._nodes[results.nodes[order]], self._tails[said])
        columns = (column.tolist() for column in (*texts, *numbers))
        return [
            f'{head}{job}}}, "double": {{"start_time": {start}.{ms:03d}, "end_time": {end}.{end_ms:03d}}}, {node}{tail}'
            for head, node, tail, job, start, ms, end, end_ms in zip(*columns, strict=True)
        ]


def _objects(texts: list[str]) -> NDArray[Any]:
    column = np.empty(len(texts), object)
    column[:] = texts
    return column


def write_health(record: Record, folder: Path) -> None:
    """Write `health-<day>.jsonl.gz` for every UTC day."""
    conditions, wordings, rng = Conditions(record), Wordings(), record.rng("health")
    sources = [source(record, conditions, wordings) for source in SOURCES]
    phrases = Phrases(record, wordings)
    folder.mkdir(parents=True, exist_ok=True)
    for day in range(record.epoch // DAY, (record.epoch + record.profile.horizon) // DAY + 1):
        low = day * DAY - record.epoch
        parts = [source.between(low, low + DAY) for source in sources]
        results = Results(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        lines = phrases.lines(results, rng)
        if lines:
            # The gzip header has no time, so the same seed gives the same bytes.
            name = f"health-{record.utc(low):%Y-%m-%d}.jsonl.gz"
            (folder / name).write_bytes(zlib.compress("".join(lines).encode(), LEVEL, GZIP))
