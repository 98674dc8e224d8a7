"""Collect the metrics of a home, and write them for Prometheus' node exporter: prometheus_client knows the format."""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from assets.rows import rows_of
from orchestration.metrics.families import HEADLINE, OF_HOME, OF_RUNS, PUBLISHED, Family
from orchestration.publication.folders import current_publication, newest_publication, pinned_publication
from orchestration.read_commands.published import ReadingError, published
from orchestration.read_commands.sent_alerts import problems
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home, code_version
from orchestration.upkeep.disk import replace_file
from orchestration.upkeep.healing import Say
from orchestration.upkeep.lock import free_of_refresh
from orchestration.upkeep.permissions import mode_for_others

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

PREFIX = "faultline_"


class Metrics:
    """A collector of prometheus_client: every call of `collect` reads the home again.

    Parameters
    ----------
    settings
        The settings with the home.
    """

    def __init__(self, settings: HomeSettings) -> None:
        self._settings = settings

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield every metric; a home without a publication has only the metrics of its runs."""
        from prometheus_client.core import GaugeMetricFamily

        def gauge(name: str, text: str, labels: Sequence[str] = ()) -> GaugeMetricFamily:
            return GaugeMetricFamily(f"{PREFIX}{name}", text, labels=labels)

        build = gauge("build_info", "1; the label is the version of Faultline.", ["version"])
        build.add_metric([code_version()], 1)
        yield build
        for name, value in _values_of_home(self._settings):
            own = gauge(name, OF_HOME[name])
            own.add_metric([], value)
            yield own
        for family, rows in _rows(self._settings.home):
            for name, text in family.columns():
                found = gauge(name, text, family.labels)
                for row in rows:
                    if row[name] is not None and math.isfinite(row[name]):
                        found.add_metric([_label(row[label]) for label in family.labels], float(row[name]))
                if found.samples:
                    yield found


def _rows(home: Home) -> Iterator[tuple[Family, list[dict[str, Any]]]]:
    with ExitStack() as stack:
        seen = stack.enter_context(published(home.published_file)) if home.published_file.exists() else None
        if seen is not None:
            for family in PUBLISHED:
                yield family, _rows_of(seen, family)
        holder = stack.enter_context(free_of_refresh(home.lock_file))
        runs = seen
        if holder is None and os.access(home.working_file, os.R_OK):
            # Another process may have locked the file.
            with suppress(duckdb.Error):
                runs = stack.enter_context(duckdb.connect(str(home.working_file), read_only=True))
        if runs is not None:
            for family in OF_RUNS:
                yield family, _rows_of(runs, family)


def _rows_of(con: duckdb.DuckDBPyConnection, family: Family) -> list[dict[str, Any]]:
    """Return a family's rows; none if an earlier version wrote the file, without the table."""
    try:
        return rows_of(con, family.sql)
    except duckdb.CatalogException:
        return []


def headline_numbers(file: Path) -> dict[str, float]:
    """Return the headline numbers of every cluster from a published file, by cluster, name and labels."""
    found = {}
    with published(file) as con:
        for family in PUBLISHED:
            for name in (name for name in HEADLINE if name in family.metrics):
                for row in _rows_of(con, family):
                    if row[name] is not None and math.isfinite(row[name]):
                        of = [_label(row[label]) for label in family.labels if label not in {"simulated", "confidence"}]
                        found[" ".join([of[0], name, *of[1:]])] = float(row[name])
    return found


def _values_of_home(settings: HomeSettings) -> Iterator[tuple[str, float]]:
    home = settings.home
    moments = {
        "publication_timestamp_seconds": current_publication(home),
        "newest_publication_timestamp_seconds": newest_publication(home),
    }
    for name, publication in moments.items():
        if publication is not None and publication.published_at:
            yield name, publication.made_at.timestamp()
    yield "publication_is_pinned", float(pinned_publication(home) is not None)
    yield "freshness_limit_seconds", 3600.0 * settings.freshness_hours
    yield "alert_channels_failing", float(len(problems(home)))


def _label(value: object) -> str:
    return "unknown" if value is None else str(value)


def exposition(settings: HomeSettings) -> bytes:
    """Return all metrics in Prometheus' text format."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Metrics(settings))
    return generate_latest(registry)


def write_metrics(settings: HomeSettings, file: Path) -> None:
    """Replace a textfile in one step, so that nobody reads half of it.

    A file outside the home is readable for the node exporter, which runs as another user. It has no users or jobs.
    """
    text = exposition(settings)
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, text, mode_for_others(file, settings.home))


def keep_metrics(settings: HomeSettings, say: Say) -> None:
    """Write the textfile of a home after a refresh; a problem becomes a line, because the refresh is complete."""
    file = settings.metrics_file or settings.home.metrics
    try:
        write_metrics(settings, file)
    except (OSError, duckdb.Error, sqlite3.Error, ReadingError) as error:
        say(f"the metrics could not be written to {file}: {' '.join(str(error).split())}")
