"""What the product promises about its costs, and whether a benchmark found it kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.benchmarks import results
from tests.benchmarks.results import Results, Scale


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
    """Judge every target, those about one scale at the scale nearest to 1."""
    judged: list[Verdict] = []
    if found.scales:
        at = found.nearest_to_one
        judged += _of_scale(at)
    judged += _of_growth(found)
    judged += _of_checks(found)
    return judged


def _of_scale(at: Scale) -> Iterator[Verdict]:
    scale = f"at scale {at.scale}"
    full, nightly = at.cost(results.FULL), at.cost(results.NIGHTLY)
    if full:
        ratio = at.ratio(results.FULL)
        assert ratio is not None
        yield Verdict("full refresh: at most twice the floor's CPU time", f"{ratio:.2f} times {scale}", ratio <= 2)
        yield Verdict(
            "full refresh: below 4 GiB", f"{full.peak_mb / 1000:.2f} GB {scale}", full.peak_mb * 1e6 < 4 * 2**30
        )
    limited = at.cost(results.LIMITED)
    if limited:
        done = "completes" if limited.exit_code == 0 else f"fails with exit status {limited.exit_code}"
        yield Verdict(
            "full refresh completes with FAULTLINE_MEMORY=1GB",
            f"{done}, peak {limited.peak_mb / 1000:.2f} GB {scale}",
            limited.exit_code == 0,
        )
    else:
        yield Verdict("full refresh completes with FAULTLINE_MEMORY=1GB", "not measured", None)
    if full and nightly:
        share = nightly.cpu_seconds / full.cpu_seconds
        measured = f"{share:.2f} of it {scale}"
        yield Verdict("nightly increment: at most half of the full refresh's CPU time", measured, share <= 0.5)
        yield Verdict("nightly increment: better, a quarter", measured, share <= 0.25)
    per_million = at.published_mb / at.attempts * 1e6
    yield Verdict(
        "published file: at most 150 MB per million attempts", f"{per_million:.0f} MB {scale}", per_million <= 150
    )
    query = at.cost("query")
    if query:
        yield Verdict(
            "`faultline query` answers within a second", f"{query.wall_seconds:.2f} s {scale}", query.wall_seconds < 1
        )


def _of_growth(found: Results) -> Iterator[Verdict]:
    exponent = results.growth_exponent(found.scales)
    target = "CPU time of the full refresh grows with attempts to the power of at most 1.05"
    if exponent is None:
        yield Verdict(target, "not measured: it takes two scales", None)
    else:
        smallest, largest = min(found.scales, key=_attempts), max(found.scales, key=_attempts)
        yield Verdict(
            target, f"{exponent:.2f} from {smallest.attempts:,} to {largest.attempts:,} attempts", exponent <= 1.05
        )


def _attempts(scale: Scale) -> int:
    return scale.attempts


def _of_checks(found: Results) -> Iterator[Verdict]:
    for logs in found.checks:
        ratio = logs.rate_ratio
        yield Verdict(
            f"raw check logs, {logs.form}: at least half of DuckDB's own scan-and-filter rate",
            f"{ratio:.2f} of it",
            ratio >= 0.5,
        )
