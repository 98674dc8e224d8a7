"""One claim about an estimator, tried on data whose truth is known: how often it held, and by how much values err."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

TOLERANCE = 0.02
"""Two points: how far coverage may lie from what is promised."""


@dataclass(frozen=True)
class Rule:
    """What is asked of a share: to lie in [low, high], give or take `errors` simulation errors.

    With `errors` below 0 the share must lie that many errors inside.
    """

    low: float
    high: float
    errors: float

    def holds(self, share: float, error: float) -> bool:
        """Whether a measured share is as asked."""
        return self.low - self.errors * error <= share <= self.high + self.errors * error

    def __str__(self) -> str:
        low, high = f"{100 * self.low:g}", f"{100 * self.high:g}%"
        return f"at least {low}%" if self.high == 1 else f"at most {high}" if self.low == 0 else f"{low} to {high}"


def near(nominal: float) -> Rule:
    """Ask for the nominal coverage, within two points and three simulation errors."""
    return Rule(round(nominal - TOLERANCE, 3), round(nominal + TOLERANCE, 3), 3.0)


def conservative(nominal: float) -> Rule:
    """Ask for the nominal coverage or more, less two points: exact limits of counts cannot hit it and lie above."""
    return Rule(round(nominal - TOLERANCE, 3), 1.0, 0.0)


def too_narrow(nominal: float) -> Rule:
    """Ask for proof that the nominal coverage is missed by more than two points."""
    return Rule(0.0, round(nominal - TOLERANCE, 3), -3.0)


def at_most(share: float) -> Rule:
    """Ask for a share that is not larger than this by more than three simulation errors."""
    return Rule(0.0, share, 3.0)


def at_least(share: float) -> Rule:
    """Ask for a share that is not smaller than this by more than three simulation errors."""
    return Rule(share, 1.0, 3.0)


@dataclass(frozen=True)
class Outcome:
    """What became of the rounds of a trial.

    Attributes
    ----------
    held
        Whether the interval held the truth, or the verdict fell, shape (rounds,).
    estimate
        Values, shape (rounds,), `nan` where none was stated; empty for verdicts.
    truth
        What was planted, in the unit of the estimate.
    """

    held: NDArray[np.bool_]
    estimate: NDArray[np.float64]
    truth: float

    @classmethod
    def of(cls, low: ArrayLike, value: ArrayLike, high: ArrayLike, truth: float) -> Outcome:
        """Hold limits and values against the truth."""
        low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        return cls((low <= truth) & (truth <= high), np.asarray(value, dtype=float), truth)

    @classmethod
    def of_verdicts(cls, fell: ArrayLike) -> Outcome:
        """Count verdicts, which have no value."""
        return cls(np.asarray(fell, dtype=bool), np.empty(0), np.nan)


@dataclass(frozen=True)
class Measured:
    """A trial's result.

    Attributes
    ----------
    share, error
        Share of rounds in which the claim held, and its standard error, which is never 0.
    bias, bias_error, spread
        Mean error of the values, its standard error, and the root of the mean squared error: as shares of the truth,
        or in the unit of the value where the trial says so; `nan` for verdicts.
    silent
        Share of rounds that stated no value.
    """

    share: float
    error: float
    bias: float
    bias_error: float
    spread: float
    silent: float


@dataclass(frozen=True)
class Trial:
    """A claim and how it is tried.

    Attributes
    ----------
    estimator
        The claim's subject, naming the function of `assets.model`.
    simulated
        How the data are made.
    nominal
        Promised share, 0 to 1.
    rule
        What the measured share must satisfy.
    rounds, quick_rounds
        Rounds for the page, and for the quick test.
    seed
        Of the generator.
    run
        Makes the data of all rounds and estimates from them.
    is_relative
        Errors are shares of the truth.
    """

    estimator: str
    simulated: str
    nominal: float
    rule: Rule
    rounds: int
    quick_rounds: int
    seed: int
    run: Callable[[np.random.Generator, int], Outcome]
    is_relative: bool = True

    def measure(self, rounds: int) -> Measured:
        """Try the claim so many times."""
        outcome = self.run(np.random.default_rng(self.seed), rounds)
        tried = outcome.held.size
        # One round more of each kind, so that a share of 0 or 1 is not taken for certain.
        padded = (outcome.held.sum() + 1) / (tried + 2)
        stated = outcome.estimate[np.isfinite(outcome.estimate)]
        nothing = (np.nan, np.nan, np.nan, 0.0)
        errors = (stated - outcome.truth) / (abs(outcome.truth) if self.is_relative else 1.0)
        of_values = nothing if not stated.size else (
            float(errors.mean()),
            float(errors.std(ddof=1) / np.sqrt(stated.size)),
            float(np.sqrt(np.mean(errors**2))),
            1.0 - stated.size / outcome.estimate.size,
        )  # fmt: skip
        return Measured(float(outcome.held.mean()), float(np.sqrt(padded * (1 - padded) / tried)), *of_values)
