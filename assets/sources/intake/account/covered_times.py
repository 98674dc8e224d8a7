"""Which intervals the files of a log cover by their own times, and which quiet stretches between them are gaps.

Within a file a quiet stretch is not a gap: a small cluster may have no event for weeks. Between two files it is a gap,
from a missing file, if it is longer than a night, than half a usual file, and than chance explains with records this
rare. A gap of accounting removes exposure from every rate, so it also needs proof:

* Files named by successive days have no gap between them, whatever their records say.
* Jobs are missing where Slurm gave out job numbers that no record has. An idle cluster gives out none.
* A day that is in no file's name, between days with files, was not exported if job numbers given out on it have no
  record, and clearly more of them than on other days. No time is too short for this. An export of one partition leaves
  numbers out every day.
* A stretch of more than a week was not exported if no file is named by one of its days. In a shorter stretch without
  such numbers an empty export may have been deleted; this is unknown.

References
----------
Goodman, Serial number analysis, JASA 47 (1952): n records that lie at random in an interval leave on average as much
room before the first and after the last as between two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

from assets.sources.text.times import LAST_TIME

MIN_GAP = timedelta(hours=20)
"""The shortest gap between two files: less may be a night, more is a missing day."""

TOUCHING = timedelta(minutes=1)
"""Windows at most this far apart count as touching: many end at 23:59:59."""

MAX_EMPTY = timedelta(days=7)
"""Where files are named by days, all exports of a stretch up to this long may have been empty and deleted."""

SUCCESSIVE = 1.5
"""Days in names are successive if at most this many usual steps lie between them: months differ in length."""

MISSING_SHARE = 0.1
"""Jobs are missing if the numbers without a record exceed this share of the jobs usual in such a time."""

TIMES_USUAL_SHARE = 3
MIN_UNUSED_NUMBERS = 5
"""A day was not exported if so many of its job numbers, and so many times the usual share, have no record."""

FALSE_GAPS = 0.05
"""Probability that records at random times leave a stretch between any two files of a log that counts as a gap."""


@dataclass(frozen=True)
class CoveredFile:
    """The interval that a file covers by its own times, and the number of its records that no other file has.

    For accounting it also has the day in the file's name, and the latest moment at which one of its jobs was submitted
    or started: an export of one day has the jobs of that day even if they ended later.
    """

    first_at: datetime
    last_at: datetime
    record_count: int
    named_at: datetime | None = None
    last_start_at: datetime | None = None


def as_one(versions: Sequence[CoveredFile]) -> CoveredFile:
    """Return what the versions of a log cover together: they are parts of one log.

    >>> day = [datetime(2024, 5, number) for number in range(1, 4)]
    >>> whole = as_one([CoveredFile(day[1], day[2], 24), CoveredFile(day[0], day[1], 3)])
    >>> whole.first_at.day, whole.last_at.day, whole.record_count
    (1, 3, 27)
    """
    return CoveredFile(
        min(version.first_at for version in versions),
        max(version.last_at for version in versions),
        sum(version.record_count for version in versions),
    )


@dataclass(frozen=True)
class JobNumbers:
    """The job numbers that Slurm gave out within a stretch, as the records show them."""

    unused: int
    """Numbers between those of records that no record has."""
    given: int
    """Unused numbers and those of records."""
    usual_share: float
    """Share of unused numbers on a usual day outside the stretch."""
    usual_jobs: float
    """How many records are usual in a time as long as the stretch."""

    @property
    def are_of_missing_jobs(self) -> bool:
        """Whether jobs are missing in a stretch that is too quiet for chance."""
        return self.unused > MISSING_SHARE * self.usual_jobs

    @property
    def are_of_a_missing_file(self) -> bool:
        """Whether the file of a day is missing, if no file has that day in its name.

        >>> JobNumbers(36, 40, usual_share=0, usual_jobs=35).are_of_a_missing_file
        True
        >>> JobNumbers(360, 400, usual_share=0.5, usual_jobs=35).are_of_a_missing_file
        False
        """
        return self.unused >= MIN_UNUSED_NUMBERS and self.unused > TIMES_USUAL_SHARE * self.usual_share * self.given


@dataclass(frozen=True, order=True)
class Interval:
    """A covered interval, and how it is known."""

    from_at: datetime
    to_at: datetime
    known_by: str


def by_times(
    files: Iterable[CoveredFile],
    *,
    is_extended: bool = True,
    job_numbers: Callable[[datetime, datetime], JobNumbers] | None = None,
) -> list[Interval]:
    """Return the intervals that files cover by their own times.

    Parameters
    ----------
    files
        Files of one kind and cluster, in any order.
    is_extended
        Whether records lie at random in the covered interval: then it extends a usual distance beyond them.
    job_numbers
        For accounting: returns the job numbers of a stretch. Without it a quiet stretch needs no further proof.

    Examples
    --------
    Three of four daily files:

    >>> day = [datetime(2024, 5, number) for number in range(1, 6)]
    >>> files = [CoveredFile(day[n], day[n] + timedelta(hours=23), 24) for n in (0, 1, 3)]
    >>> [f"{found.from_at:%d %H:%M} {found.to_at:%d %H:%M}" for found in by_times(files)]
    ['30 23:00 03 00:00', '03 23:00 05 00:00']
    """
    ordered = sorted(files, key=lambda file: (file.first_at, file.last_at))
    if not ordered:
        return []
    spacing = _spacing(ordered)
    usual_length = timedelta(seconds=median((file.last_at - file.first_at).total_seconds() for file in ordered))
    longest_quiet = max(MIN_GAP, usual_length / 2) + spacing * math.log(len(ordered) / FALSE_GAPS)
    beyond = spacing if is_extended else timedelta()
    step = _step(ordered)
    stretches = [[ordered[0].first_at, ordered[0].last_at]]
    told_until, named_at = _told_until(ordered[0], step), ordered[0].named_at
    for file in ordered[1:]:
        is_quiet = file.first_at - told_until > longest_quiet
        if (
            is_quiet
            if job_numbers is None
            else _is_missing(told_until, named_at, file, step, job_numbers, is_quiet=is_quiet)
        ):
            stretches[-1][1] = told_until
            stretches.append([file.first_at, file.last_at])
            told_until = _told_until(file, step)
        else:
            stretches[-1][1] = max(stretches[-1][1], file.last_at)
            told_until = max(told_until, _told_until(file, step))
        named_at = max(filter(None, (named_at, file.named_at)), default=None)
    return [Interval(first - beyond, last + beyond, "log") for first, last in stretches]


def _step(files: list[CoveredFile]) -> timedelta | None:
    """Return the usual distance between the days in names of successive files; None without two such days."""
    days = sorted({file.named_at for file in files if file.named_at})
    steps = [(later - earlier).total_seconds() for earlier, later in pairwise(days)]
    return timedelta(seconds=median(steps)) if steps else None


def _told_until(file: CoveredFile, step: timedelta | None) -> datetime:
    """Return until when a file has all jobs: the end of its day if all its jobs began by then."""
    if file.named_at and file.last_start_at and step and file.first_at < file.named_at + step >= file.last_start_at:
        return min(file.last_at, file.named_at + step)
    return file.last_at


def _is_missing(
    told_until: datetime,
    named_at: datetime | None,
    file: CoveredFile,
    step: timedelta | None,
    job_numbers: Callable[[datetime, datetime], JobNumbers],
    *,
    is_quiet: bool,
) -> bool:
    """Return whether accounting before a file is missing, rather than the cluster idle."""
    if named_at is None or file.named_at is None or step is None:
        return is_quiet and job_numbers(told_until, file.first_at).are_of_missing_jobs
    if file.named_at - named_at <= SUCCESSIVE * step or file.first_at <= told_until:
        return False
    if is_quiet and file.first_at - told_until > MAX_EMPTY:
        return True
    return job_numbers(told_until, file.first_at).are_of_a_missing_file


def _spacing(files: list[CoveredFile]) -> timedelta:
    """Return the mean distance of successive records: within files or, if each file is of one moment, between them.

    Overlapping files count as one: each of their records is in one of them.
    """
    runs: list[CoveredFile] = []
    for file in files:
        if runs and file.first_at <= runs[-1].last_at:
            last = runs.pop()
            last_at, count = max(last.last_at, file.last_at), last.record_count + file.record_count
            runs.append(CoveredFile(last.first_at, last_at, count))
        else:
            runs.append(file)
    counted = [run for run in runs if run.last_at > run.first_at and run.record_count > 1]
    if counted:
        covered = sum((run.last_at - run.first_at).total_seconds() for run in counted)
        return timedelta(seconds=covered / sum(run.record_count - 1 for run in counted))
    moments = sorted({file.first_at for file in files})
    distances = [(later - earlier).total_seconds() for earlier, later in pairwise(moments)]
    return timedelta(seconds=median(distances)) if distances else timedelta()


def joined(intervals: Iterable[Interval]) -> list[Interval]:
    """Join intervals that touch or overlap; the result is known by the log's own times if any part is.

    A night before or after an interval that is known by a log's own times is not a gap.

    >>> day = [datetime(2024, 5, number) for number in range(1, 6)]
    >>> both = [Interval(day[0], day[2], "manifest"), Interval(day[1], day[3], "log")]
    >>> [(found.to_at.day, found.known_by) for found in joined(both)]
    [(4, 'log')]
    """
    found: list[Interval] = []
    for interval in sorted(intervals):
        apart = MIN_GAP if found and "log" in (found[-1].known_by, interval.known_by) else TOUCHING
        if found and interval.from_at - found[-1].to_at <= apart:
            last = found.pop()
            known_by = last.known_by if interval.to_at <= last.to_at else interval.known_by
            known_by = "log" if "log" in (last.known_by, interval.known_by) else known_by
            found.append(Interval(last.from_at, max(last.to_at, interval.to_at), known_by))
        else:
            found.append(interval)
    return found


def without(intervals: Iterable[Interval], missing: Iterable[tuple[datetime, datetime]]) -> list[Interval]:
    """Return intervals without the given stretches.

    >>> day = [datetime(2024, 5, number) for number in range(1, 6)]
    >>> left = without([Interval(day[0], day[4], "log")], [(day[1], day[2]), (day[3], day[4])])
    >>> [(found.from_at.day, found.to_at.day) for found in left]
    [(1, 2), (3, 4)]
    """
    left = list(intervals)
    for from_at, to_at in missing:
        left = [
            Interval(start, end, whole.known_by)
            for whole in left
            for start, end in ((whole.from_at, min(whole.to_at, from_at)), (max(whole.from_at, to_at), whole.to_at))
            if start < end
        ]
    return left


def until(intervals: Iterable[Interval], end: datetime, known_by: str) -> list[Interval]:
    """Return intervals cut at a moment; if that removes anything, the last one gets `known_by`.

    >>> day = [datetime(2024, 5, number) for number in range(1, 6)]
    >>> whole = [Interval(day[0], day[1], "log"), Interval(day[2], day[4], "log")]
    >>> [(found.to_at.day, found.known_by) for found in until(whole, day[3], "clock")]
    [(2, 'log'), (4, 'clock')]
    """
    whole = sorted(intervals)
    left = without(whole, [(end, LAST_TIME)])
    if left and left != whole:
        left[-1] = replace(left[-1], known_by=known_by)
    return left
