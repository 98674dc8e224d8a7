"""Figures that others published, worked out again from the counts they give, by the functions of `assets.model`.

The figures were taken from quotations and summaries of the papers; those marked as worked out are no source's word but
follow from its counts, or from a formula, by arithmetic apart from this code. A figure agrees when it is ours rounded
as it was printed. Those that do not follow from the counts printed with them are kept and say so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assets.model.change_points import find_rate_changes
from assets.model.checkpoint import young_minutes
from assets.model.coincidence import binomial_share, standardised_rate
from assets.model.ettr import expected_ettr, expected_ettr_exact
from assets.model.failure_rate import garwood_interval
from assets.model.mttf import mttf_at_scale, mttf_from_runtime, nodes_of
from assets.model.rate_ratio import rate_ratio
from assets.model.run_plan import assumed_rate
from assets.model.survival import fit_weibull

RSC1, RSC2 = 0.0065, 0.00234
"""Failures per node-day of the paper's clusters."""

PAPER = "Kokolis et al., HPCA 2025"
FIRST_VERSION, SECOND_VERSION = f"{PAPER} (arXiv v1)", f"{PAPER} (arXiv v2)"
INFINITEHBD = "worked out: InfiniteHBD fault trace, 400 servers, 348 days, 584 faults"
LLAMA = "Llama 3, 16,384 GPUs, 54 days, 419 interruptions"
HSDP = "Meta, FT-HSDP (arXiv 2602.00277), 678 interruptions"
DELTA = 'Delta, "Story of Two GPUs", SC 2025'
FIRE_FLYER = "Fire-Flyer (DeepSeek), 12,970 XID events"
PHILLY = "Philly, ATC 2019, 39,776 failures of jobs"
BYTE_ROBUST = "ByteRobust (arXiv 2509.16293v4), 55,365 incidents of 778,135 jobs"
WORKED_OUT = "worked out: the formula"


@dataclass(frozen=True)
class Figure:
    """A figure of a source, as printed, and ours.

    Attributes
    ----------
    source, quantity
        Where it is printed, and what it says.
    printed
        As printed, so that its last digit shows how it was rounded; `>` or `<` in front asks for more than that,
        or for less.
    ours
        By `assets.model`, in the same unit.
    function
        The function that gave it.
    follows
        False where the printed figure does not follow from what is printed with it.
    note
        Why not.
    """

    source: str
    quantity: str
    printed: str
    ours: float
    function: str
    follows: bool = True
    note: str = ""

    @property
    def agrees(self) -> bool:
        """Whether ours, rounded as printed, is the printed figure."""
        if self.printed.startswith(">"):
            return self.difference > 0
        if self.printed.startswith("<"):
            return self.difference < 0
        half = 0.5 * 10.0 ** -len(self.printed.partition(".")[2])
        return abs(self.difference) <= half * (1 + 1e-9)

    @property
    def difference(self) -> float:
        """Take the printed figure, or the bound, from ours."""
        return self.ours - float(self.printed.lstrip("<>").replace(",", ""))


def _rate(count: int, node_days: float) -> float:
    return 1000 * float(garwood_interval(count, node_days).value)


def _mttf(rate: float, gpus: int) -> float:
    return float(mttf_at_scale(assumed_rate(rate), nodes_of(gpus, 8)).hours)


def _between(count: int, hours: float) -> float:
    return float(mttf_from_runtime(count, hours).hours)


def _shares(source: str, total: int, parts: dict[str, tuple[int, str]]) -> tuple[Figure, ...]:
    return tuple(
        Figure(source, f"{name}: {count:,}, %", printed, 100 * binomial_share(count, total).value, "binomial_share")
        for name, (count, printed) in parts.items()
    )


RATES = (
    Figure(INFINITEHBD, "faults per 1,000 node-days", "4.195", _rate(584, 400 * 348), "garwood_interval"),
    Figure(f"worked out: {LLAMA}", "interruptions per 1,000 node-days, 2,048 nodes", "3.79", _rate(419, 2048 * 54),
           "garwood_interval"),
    Figure(LLAMA, "hours between interruptions", "3.09", _between(419, 54 * 24), "mttf_from_runtime"),
    Figure(LLAMA, "hours, with the 47 planned ones", "2.78", _between(466, 54 * 24), "mttf_from_runtime"),
    Figure(DELTA, "A100: hours between 14,821 errors in 895 days", "1.4", _between(14_821, 895 * 24),
           "mttf_from_runtime"),
    Figure(DELTA, "H100: hours between 1,821 errors in 146 days", "1.9", _between(1821, 146 * 24),
           "mttf_from_runtime"),
    Figure(DELTA, "H100: GPU-hours between 24 uncorrectable memory errors, 608 GPUs", "88,768",
           _between(24, 608 * 146 * 24), "mttf_from_runtime"),
    Figure(DELTA, "A100: GPU-hours between 34 uncorrectable memory errors, 448 GPUs", "283,271",
           _between(34, 448 * 895 * 24), "mttf_from_runtime", False,
           "0.08% above what GPUs, days and errors give"),
)  # fmt: skip

MTTFS = (
    Figure(PAPER, "hours at 16,384 GPUs and 6.50 per 1,000 node-days", "1.8", _mttf(RSC1, 16_384), "mttf_at_scale"),
    Figure(PAPER, "hours at 131,072 GPUs", "0.23", _mttf(RSC1, 131_072), "mttf_at_scale"),
    Figure(PAPER, "hours at 1,024 GPUs", "7.9", _mttf(RSC1, 1024), "mttf_at_scale", False,
           "measured by the paper, not from its rate"),
    Figure(PAPER, "days at 8 GPUs", "47.7", _mttf(RSC1, 8) / 24, "mttf_at_scale", False,
           "measured by the paper; small jobs failed more often than its rate says"),
    Figure(WORKED_OUT, "hours at 16,384 GPUs", "1.803", _mttf(RSC1, 16_384), "mttf_at_scale"),
    Figure(WORKED_OUT, "hours at 131,072 GPUs", "0.2254", _mttf(RSC1, 131_072), "mttf_at_scale"),
    Figure(WORKED_OUT, "hours at 1,024 GPUs", "28.85", _mttf(RSC1, 1024), "mttf_at_scale"),
    Figure(WORKED_OUT, "days at 8 GPUs", "153.8", _mttf(RSC1, 8) / 24, "mttf_at_scale"),
)  # fmt: skip


def _linear(gpus: int, rate: float, checkpoint: float, restart: float = 5, write: float = 0, queue: float = 0) -> float:
    costs = {"restart_minutes": restart, "write_minutes": write, "queue_minutes": queue}
    return float(expected_ettr(gpus / 8 * rate, checkpoint, **costs))


def _exact(gpus: int, rate: float, checkpoint: float, restart: float = 5, write: float = 0, queue: float = 0) -> float:
    costs = {"restart_minutes": restart, "write_minutes": write, "queue_minutes": queue}
    return float(expected_ettr_exact(gpus / 8 * rate, checkpoint, **costs))


def _young(gpus: int, rate: float, write: float) -> float:
    return float(young_minutes(gpus / 8 * rate, write))


TWELVE, TEN_SECONDS = _young(12_000, RSC1, 5), 10 / 60
LINEAR, EXACT = "expected_ettr", "expected_ettr_exact"

ETTRS = (
    Figure(FIRST_VERSION, "16,000 GPUs, checkpoint each 60 min", "0.7", _linear(16_000, RSC1, 60), LINEAR),
    Figure(FIRST_VERSION, "16,000 GPUs, each 5 min", "0.93", _linear(16_000, RSC1, 5), LINEAR),
    Figure(FIRST_VERSION, "8,000 GPUs, each 30 min, 1 min queued", "0.9", _linear(8000, RSC1, 30, queue=1), LINEAR),
    Figure(FIRST_VERSION, "2,048 GPUs, each 60 min", ">0.9", _linear(2048, RSC1, 60), LINEAR),
    Figure(FIRST_VERSION, "4,096 GPUs, each 60 min", ">0.9", _linear(4096, RSC1, 60), LINEAR),
    Figure(FIRST_VERSION, "100,000 GPUs, each 7 min", "0.5", _linear(100_000, RSC1, 7), LINEAR),
    Figure(FIRST_VERSION, "100,000 GPUs at 2.34 per 1,000 node-days, each 21 min", "0.5", _linear(100_000, RSC2, 21),
           LINEAR, False, "0.5 is reached at 39 min"),
    Figure(FIRST_VERSION, "100,000 GPUs at 2.34, each 2 min, restart 2 min", "0.9", _linear(100_000, RSC2, 2, 2),
           LINEAR),
    Figure(SECOND_VERSION, "12,000 GPUs at 1 per 1,000 node-days, writes of 5 min, Young's interval", "0.9",
           _linear(12_000, 0.001, _young(12_000, 0.001, 5), write=5), LINEAR),
    Figure(SECOND_VERSION, "12,000 GPUs at 6.50, writes of 10 s, Young's interval", "0.9",
           _linear(12_000, RSC1, _young(12_000, RSC1, TEN_SECONDS), write=TEN_SECONDS), LINEAR),
    Figure(WORKED_OUT, "16,000 GPUs, each 60 min", "0.684", _linear(16_000, RSC1, 60), LINEAR),
    Figure(WORKED_OUT, "... renewal form", "0.720", _exact(16_000, RSC1, 60), EXACT),
    Figure(WORKED_OUT, "16,000 GPUs, each 5 min", "0.932", _linear(16_000, RSC1, 5), LINEAR),
    Figure(WORKED_OUT, "... renewal form", "0.9345", _exact(16_000, RSC1, 5), EXACT),
    Figure(WORKED_OUT, "8,000 GPUs, each 30 min, 1 min queued", "0.9056", _linear(8000, RSC1, 30, queue=1), LINEAR),
    Figure(WORKED_OUT, "... renewal form", "0.909", _exact(8000, RSC1, 30, queue=1), EXACT),
    Figure(WORKED_OUT, "2,048 GPUs, each 60 min", "0.960", _linear(2048, RSC1, 60), LINEAR),
    Figure(WORKED_OUT, "4,096 GPUs, each 60 min", "0.919", _linear(4096, RSC1, 60), LINEAR),
    Figure(WORKED_OUT, "Young's interval of 12,000 GPUs, writes of 5 min, minutes", "38.4", TWELVE, "young_minutes"),
    Figure(WORKED_OUT, "... its ETTR", "0.740", _linear(12_000, RSC1, TWELVE, write=5), LINEAR),
    Figure(WORKED_OUT, "... renewal form", "0.736", _exact(12_000, RSC1, TWELVE, write=5), EXACT),
    Figure(WORKED_OUT, "... with 0.96 failures per 1,000 node-days", "0.90",
           _linear(12_000, 0.00096, _young(12_000, 0.00096, 5), write=5), LINEAR),
    Figure(WORKED_OUT, "Young's interval of 12,000 GPUs, writes of 10 s, minutes", "7.02",
           _young(12_000, RSC1, TEN_SECONDS), "young_minutes"),
    Figure(WORKED_OUT, "... its ETTR", "0.921",
           _linear(12_000, RSC1, _young(12_000, RSC1, TEN_SECONDS), write=TEN_SECONDS), LINEAR),
)  # fmt: skip

LLAMA_CAUSES = {
    "GPU memory (HBM3)": (72, "17.2"),
    "software": (54, "12.9"),
    "network switch or cable": (35, "8.4"),
    "unplanned host maintenance": (32, "7.6"),
    "GPU SRAM": (19, "4.5"),
    "GPU system processor": (17, "4.1"),
    "NIC": (7, "1.7"),
    "NCCL watchdog": (7, "1.7"),
    "silent data corruption": (6, "1.4"),
    "GPU thermal and sensor": (6, "1.4"),
    "power supply": (3, "0.7"),
    "system memory": (2, "0.5"),
}
BYTE_ROBUST_INCIDENTS = {
    "CUDA error": (19_968, "36.1"),
    "CPU overload": (6_095, "11.0"),
    "CPU out of memory": (5_567, "10.1"),
    "disk space": (2_755, "5.0"),
    "InfiniBand": (1_599, "2.9"),
    "filesystem mount": (1_176, "2.1"),
    "HDFS": (1_104, "2.0"),
    "container": (781, "1.4"),
    "kernel panic": (203, "0.4"),
    "GPU memory": (188, "0.3"),
    "external service": (128, "0.2"),
    "GPU unavailable": (76, "0.1"),
    "disk fault": (47, "0.1"),
    "job hang": (5_506, "9.9"),
    "decline of MFU": (442, "0.8"),
    "NaN": (148, "0.3"),
    "manual restart": (9_582, "17.3"),
}
"""The first 13 are called explicit, the next three implicit."""
LEMON_CAUSES = {
    "GPU": (11, "28.2"),
    "DIMM": (8, "20.5"),
    "PCIe": (6, "15.4"),
    "EUD": (4, "10.3"),
    "BIOS": (3, "7.7"),
    "NIC": (3, "7.7"),
    "PSU": (2, "5.1"),
    "optics": (1, "2.6"),
}

SHARES = (
    Figure(LLAMA, "faulty GPU: 148, %", "30.1", 100 * binomial_share(148, 419).value, "binomial_share", False,
           "148 of 419 are 35.3%"),
    *_shares(LLAMA, 419, LLAMA_CAUSES),
    *_shares(BYTE_ROBUST, 55_365, BYTE_ROBUST_INCIDENTS),
    Figure(BYTE_ROBUST, "explicit failures", "38,236",
           sum(count for count, _ in [*BYTE_ROBUST_INCIDENTS.values()][:13]), "-", False,
           "its explicit rows add up to 39,687"),
    Figure(BYTE_ROBUST, "implicit failures", "5,948",
           sum(count for count, _ in [*BYTE_ROBUST_INCIDENTS.values()][13:16]), "-", False,
           "its implicit rows add up to 6,096; without NaN to 5,948"),
    *_shares(HSDP, 678, {"GPU memory (HBM3)": (155, "22.9")}),
    *_shares(FIRE_FLYER, 12_970, {"XID 74": (5521, "42.57")}),
    *_shares(PHILLY, 39_776, {"no signature": (1684, "4.2")}),
    *_shares(f"{PAPER}, root causes of lemons, counts inferred as parts of 39", 39, LEMON_CAUSES),
    *_shares(f"{PAPER}, lemons of 2,000 nodes", 2000, {"RSC-1": (24, "1.2")}),
)  # fmt: skip

# Kilometres of vehicle shock absorbers; the others were in order when last seen.
FAILED_AT = [6700, 9120, 12200, 13150, 14300, 17520, 20100, 20900, 22700, 26510, 27490]
IN_ORDER_AT = [
    6950, 7820, 8790, 9660, 9820, 11310, 11690, 11850, 11880, 12140, 12870, 13330, 13470, 14040, 17540, 17890, 18450,
    18960, 18980, 19410, 20100, 20150, 20320, 23490, 27410, 27890, 28100,
]  # fmt: skip
ABSORBERS = fit_weibull(FAILED_AT + IN_ORDER_AT, [1] * len(FAILED_AT) + [0] * len(IN_ORDER_AT))
# Coal-mining disasters in Britain a year, 1851 to 1961.
DISASTERS = [
    4, 5, 4, 1, 0, 4, 3, 4, 0, 6, 3, 3, 4, 0, 2, 6, 3, 3, 5, 4, 5, 3, 1, 4, 4, 1, 5, 5, 3, 4, 2, 5, 2, 2, 3, 4, 2, 1, 3,
    2, 2, 1, 1, 1, 1, 3, 0, 0, 1, 0, 1, 1, 0, 0, 3, 1, 0, 3, 2, 2, 0, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 2, 1, 0, 0, 0, 1, 1,
    0, 2, 3, 3, 1, 1, 2, 1, 1, 1, 1, 2, 4, 2, 0, 0, 1, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1,
]  # fmt: skip
SPANS = find_rate_changes(DISASTERS, np.ones(111))
BEFORE, AFTER = SPANS.event_count / SPANS.exposure
MOTHERS = np.array([319933, 931318, 786511, 488235, 237863, 61313])
DOWNS = standardised_rate(
    [0, 8, 63, 112, 262, 295], [327, 30666, 123419, 149919, 104088, 34392], MOTHERS / MOTHERS.sum(), 0.95
)
R_RATIO = rate_ratio(11, 800, 21, 3011, confidence_level=0.95)
TABLES = "tables of exact Poisson limits"
ABSORBER_BOOK = "Meeker and Escobar (1998), shock absorbers"
FAY_FEUER = "Fay and Feuer (1997), R's dsrTest, Down's syndrome"
POISSON_TEST = "R's poisson.test, 11 of 800 and 21 of 3,011, 95%"
CARLIN = "Carlin, Gelfand and Smith (1992), coal-mining disasters"

BOOKS = (
    Figure(TABLES, "no event, upper 95% limit", "2.996", float(garwood_interval(0, 1.0).high), "garwood_interval"),
    Figure(TABLES, "5 events, lower limit of 90%", "1.970", float(garwood_interval(5, 1.0).low), "garwood_interval"),
    Figure(TABLES, "5 events, upper limit of 90%", "10.513", float(garwood_interval(5, 1.0).high), "garwood_interval"),
    Figure(POISSON_TEST, "ratio of the rates", "1.971488", float(R_RATIO.value), "rate_ratio"),
    Figure(POISSON_TEST, "lower limit", "0.8584264", float(R_RATIO.low), "rate_ratio"),
    Figure(POISSON_TEST, "upper limit", "4.2772659", float(R_RATIO.high), "rate_ratio"),
    Figure(FAY_FEUER, "per 100,000 births, weighted", "75.52901", 1e5 * DOWNS.value, "standardised_rate"),
    Figure(FAY_FEUER, "lower limit of 95%", "67.70212", 1e5 * DOWNS.low, "standardised_rate"),
    Figure(FAY_FEUER, "upper limit", "188.30017", 1e5 * DOWNS.high, "standardised_rate"),
    Figure(ABSORBER_BOOK, "1 / Weibull shape", "0.316", 1 / ABSORBERS.shape, "fit_weibull"),
    Figure(ABSORBER_BOOK, "logarithm of the scale in km", "10.23", float(np.log(ABSORBERS.scale)), "fit_weibull"),
    Figure(CARLIN, "disasters a year before the change", "3.1", float(BEFORE), "find_rate_changes"),
    Figure(CARLIN, "disasters a year after it", "0.9", float(AFTER), "find_rate_changes"),
)

FIGURES = (*RATES, *MTTFS, *ETTRS, *SHARES, *BOOKS)
