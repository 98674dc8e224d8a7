"""A run of all assets ends at once where nothing is new, whoever started it: schedule, sensor, button or command.

The first asset finds that nothing is new and gives no table. Dagster then skips all that comes after, and the run ends
as a success. A run of some assets is never skipped, as somebody chose them, nor is one that asks to rebuild everything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import dagster as dg
import duckdb
from pydantic import PrivateAttr

from assets.raw.folder import SourcesFolder
from assets.warehouse import Warehouse
from orchestration.environment import HomeSettings
from orchestration.home import Home
from orchestration.publication.folders import newest_publication, pinned_publication
from orchestration.publication.freshness import is_up_to_date

FULL = "faultline/full"
"""Tag of a run that reads every file again and rebuilds all; its value is `true`."""
STEPS_CHOSEN = "dagster/step_selection"
"""Dagster's tag of a run of which somebody chose the steps."""
HAS_NEWS = "faultline/has_news"
"""Tag of a run that was started because something is new: the first asset need not look again."""


def rebuilds_all(settings: HomeSettings, tags: Mapping[str, str]) -> bool:
    """Tell whether a run with these tags reads every file again and uses nothing that an earlier one made."""
    return settings.is_full or tags.get(FULL) == "true"


class HomeSources(SourcesFolder):
    """The sources folder of a home, which knows whether the home needs a run."""

    _home: Home = PrivateAttr()
    _whole: frozenset[dg.AssetKey] = PrivateAttr()

    @classmethod
    def of(cls, settings: HomeSettings, whole: Collection[dg.AssetKey], tags: Mapping[str, str]) -> HomeSources:
        """Bind the folder to a run.

        Parameters
        ----------
        settings
            Name the home.
        whole
            All assets: a run of fewer is not skipped.
        tags
            Those of the run.
        """
        made = cls(
            path=str(settings.home.sources),
            full=rebuilds_all(settings, tags),
            privacy_key=str(settings.privacy_key),
        )
        made._home, made._whole = settings.home, frozenset(whole)
        return made

    def reason_to_skip(self, run: dg.DagsterRun) -> str | None:
        """Say why the run has nothing to do; then it leaves no row in ops.runs, as with the command."""
        # A job's own selection stands there as None or as an empty set, depending on how it was started.
        is_whole = not run.asset_selection or self._whole <= run.asset_selection
        is_whole = is_whole and STEPS_CHOSEN not in run.tags
        if not is_whole or self.full or run.tags.get(HAS_NEWS) == "true" or not _is_sound(self._home):
            return None
        reason = reason_without_news(self._home)
        if reason is not None:
            with Warehouse(path=str(self._home.working_file)).writing() as con:
                con.execute("delete from ops.runs where run_id = ?", [run.run_id])
        return reason


def reason_without_news(home: Home) -> str | None:
    """Say that nothing is new, and since when; return None if a refresh has something to do."""
    if not is_up_to_date(home):
        return None
    pinned, newest = pinned_publication(home), newest_publication(home)
    stays = f"publication {pinned.number}, pinned by `faultline rollback`," if pinned else "the last publication"
    of = f" of {newest.published_at}" if newest and not pinned else ""
    return (
        f"nothing is new: {stays}{of} stays, and nothing is built; to rebuild all the same, launch the job"
        " full_refresh or run `faultline refresh --full`"
    )


def _is_sound(home: Home) -> bool:
    """Tell whether the files that a refresh builds in are there and are those of the newest publication."""
    newest = newest_publication(home)
    if newest is None or not home.publication.is_file():
        return False
    try:
        with Warehouse(path=str(home.working_file)).reading() as con:
            last = con.execute("select run_id from ops.published order by rowid desc limit 1").fetchone()
    except duckdb.Error:
        return False
    return last == (newest.run_id,)
