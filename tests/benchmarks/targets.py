"""What the product promises about its costs, and whether a benchmark found it kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.benchmarks import results
from tests.benchmarks.measuring import Cost
from tests.benchmarks.results import Results, Scale
from tests.benchmarks.steps import longest_of
from tests.benchmarks.workloads import DAILY

MAX_CPU_RATIO = 3.5
"""CPU time of the full refresh over the floor's."""
MAX_NIGHT_SHARE, MAX_NIGHT_SHARE_OF_ONE_FILE = 0.6, 0.9
"""CPU time of a night over that of the full refresh: with files of a day each, and with one growing file of a kind."""
MAX_PEAK_MB = 3000
MAX_MB_PER_MILLION = 156
MAX_QUESTION_SECONDS = 0.6
MAX_REPORT_SECONDS = 5
MAX_FIXED_CPU_SECONDS = 13
MAX_ESTIMATE_SECONDS = 10


@dataclass(frozen=True)
class Verdict:
    """One target beside what was measured.

    Attributes
    ----------
    target
        In words, with its limit.
    measured
        In words.
    is_met
        None where the benchmark did not measure it.
    """

    target: str
    measured: str
    is_met: bool | None


def verdicts(found: Results) -> list[Verdict]:
    """Judge every target."""
    judged = [
        replace(verdict, target=f"{scale.workload}: {verdict.target}")
        for scale in found.scales
        for verdict in _of_scale(scale)
    ]
    seconds = found.fixed.cpu_seconds
    target = f"refresh of the committed capture: at most {MAX_FIXED_CPU_SECONDS} CPU s"
    return [*judged, Verdict(target, f"{seconds:.1f} s", seconds <= MAX_FIXED_CPU_SECONDS)]


def _of_scale(at: Scale) -> Iterator[Verdict]:
    full, limited = at.cost(results.FULL), at.cost(results.LIMITED)
    if full is None or full.exit_code != 0:
        yield Verdict("full refresh completes", "no", False)
        return
    yield from _of_cpu(at, full)
    yield _of_size(
        at,
        f"full refresh: below {MAX_PEAK_MB / 1000:.0f} GB",
        f"{full.peak_mb / 1000:.2f} GB",
        full.peak_mb < MAX_PEAK_MB,
    )
    missing = longest_of(at.steps[results.FULL], full.wall_seconds)
    yield Verdict(
        "full refresh: no model takes more than a tenth of the time",
        ", ".join(f"`{name}`" for name in missing) or "none",
        not missing,
    )
    yield _of_memory(limited)
    yield from _of_seconds(at)
    per_million = at.published_mb / at.attempts * 1e6
    yield Verdict(
        f"published file: at most {MAX_MB_PER_MILLION} MB per million attempts",
        f"{per_million:.0f} MB",
        per_million <= MAX_MB_PER_MILLION,
    )


def _of_memory(limited: Cost | None) -> Verdict:
    """Judge the run with little memory, which a quick round leaves out."""
    target = "full refresh completes with FAULTLINE_MEMORY=1GB"
    if limited is None:
        return Verdict(target, "not run", None)
    done = "completes" if limited.exit_code == 0 else f"fails with exit status {limited.exit_code}"
    return Verdict(target, f"{done}, peak {limited.peak_mb / 1000:.2f} GB", limited.exit_code == 0)


def _of_cpu(at: Scale, full: Cost) -> Iterator[Verdict]:
    """Judge shares of CPU time, which are those of scale 1: at a smaller one the fixed cost is most of them."""
    ratio, nightly = at.ratio(results.FULL), at.cost(results.NIGHTLY)
    if ratio is not None:
        yield Verdict(
            f"full refresh: at most {MAX_CPU_RATIO} times the floor's CPU time",
            f"{ratio:.2f} times",
            None if at.scale < 1 else ratio <= MAX_CPU_RATIO,
        )
    if nightly:
        share = nightly.cpu_seconds / full.cpu_seconds
        max_night = MAX_NIGHT_SHARE if at.workload == DAILY.name else MAX_NIGHT_SHARE_OF_ONE_FILE
        yield Verdict(
            f"nightly increment: at most {max_night} of the full refresh's CPU time",
            f"{share:.2f}",
            None if at.scale < 1 else share <= max_night,
        )


def _of_size(at: Scale, target: str, measured: str, is_met: bool) -> Verdict:
    """Judge what grows with size: a smaller scale that keeps the target proves nothing, one that does not misses it."""
    return Verdict(target, measured, None if is_met and at.scale < 1 else is_met)


def _of_seconds(at: Scale) -> Iterator[Verdict]:
    limits = []
    if at.estimates:
        longest = max(cost.seconds for cost in at.estimates.values())
        limits.append((f"no estimate takes more than {MAX_ESTIMATE_SECONDS} s", longest, MAX_ESTIMATE_SECONDS))
    if at.asked_seconds:
        target = f"`faultline query` answers each of ten questions within {MAX_QUESTION_SECONDS} s"
        limits.append((target, max(at.asked_seconds.values()), MAX_QUESTION_SECONDS))
    if report := at.cost(results.REPORT):
        limits.append((f"report alone: within {MAX_REPORT_SECONDS} s", report.wall_seconds, MAX_REPORT_SECONDS))
    for target, seconds, limit in limits:
        verdict = _of_size(at, target, f"{seconds:.2f} s", seconds <= limit)
        yield verdict if at.is_measured_alone else replace(verdict, is_met=None)
