"""Posterior probability that the evidence near the end of a failed attempt belongs to its failure, not to chance.

Two groups (Efron 2010): events that happen at any time, with rate and features measured on attempts that COMPLETED, and
events that ended an attempt, with share and features from expectation-maximisation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assets.model.attribution.aftermath import after_failure, near
from assets.model.attribution.chance import CHECK_WEIGHT, ChanceRate
from assets.model.attribution.evidence import (
    FAMILIES,
    LAG_CLASSES,
    Controls,
    Episodes,
    Strata,
    Suspects,
    lag_class,
    seconds_by_lag_class,
)
from assets.model.attribution.looks import CauseLooks, ChanceLooks
from assets.model.attribution.prior import Prior
from assets.model.shares import Floats, Kinds, ones

DRAWS = 50
"""Number of sets of parameters drawn to represent their uncertainty."""

_CAUSE_LAGS = (0.06, 0.10, 0.18, 0.30, 0.16, 0.12, 0.08)
_LAG_WEIGHT = 10.0
"""Assumed shares of causes by class of lag for clusters with few events, and the weight of the assumption in events."""
_SECOND_FAULT = 1e-3
"""Share of events on a node within minutes of a failure that Slurm attributes to it which are separate faults."""
_MAX_STEPS, _TOLERANCE = 5000, 1e-7
"""A draw has converged when no probability changes by the tolerance in a step, mostly after 50 to 500 steps."""


@dataclass(frozen=True)
class Posterior:
    """The fitted probabilities.

    Attributes
    ----------
    probability
        Shape (episodes,): probability that the episode ended its attempt, the mean of `draws`. The sum over an attempt
        is at most 1.
    draws
        Shape (DRAWS, episodes): the same under each drawn set of parameters.
    """

    probability: NDArray[np.float64]
    draws: NDArray[np.float64]


def attribute(
    *,
    suspects: Suspects,
    episodes: Episodes,
    strata: Strata,
    controls: Controls,
    control_episodes: Episodes,
    before_seconds: float,
    after_seconds: float,
    generator: np.random.Generator,
) -> Posterior:
    """Fit the probability that each episode caused the failure of its attempt.

    Parameters
    ----------
    suspects, episodes
        Failed attempts with events in their window, and these events.
    strata
        Classes of the failed attempts.
    controls, control_episodes
        The same windows on attempts that COMPLETED. `attempt` of their episodes is not used.
    before_seconds, after_seconds
        The window around the end.
    generator
        Draws the weights behind `Posterior.draws`.

    Returns
    -------
    Posterior
        In the order of `episodes`.

    Notes
    -----
    Coincidences on a node are a Poisson process. Its rate is that of the node's class, times how prone to false alarms
    the node is (Gamma-Poisson, from its events away from failed attempts), times the check's share. Infrastructure
    ended an attempt of stratum s with probability theta_s; one more episode then lies on one of its N nodes, of
    check c with probability g_c, in lag class b with probability h_b, with features x with probability f1_x.
    The odds that episode j is that one are ::

        theta_s / (1 - theta_s) * g_c h_b f1_x / N / (beta_cn L_b r_b f0_x)

    where L_b are the seconds of the lag class in the attempt's window, r_b is the density of coincidences in it
    relative to an even one, f0_x is the share of features among the check's own coincidences, shrunk towards that of
    its family. Over the episodes of one attempt, p_j = odds_j / (1 + sum of odds).
    The rate of coincidences is estimated from the controls; theta, g, h and f1 are found by expectation-maximisation.
    Each step goes half of the way: with whole steps some probabilities alternate between two values.
    For each episode g, h and f1 are estimated from the other episodes (collapsed variational Bayes of order zero). If
    an episode counted for itself, its own features would look usual, and its probability would be too extreme. An
    event with probability p of a failure counts in the controls as 1 - p, because other attempts that share the node
    show it near their ends as well. Later signs of a fault that already failed an attempt are no evidence for the
    next attempt on the node, nor for an attempt that shared the node and ended in another minute, farther from the
    fault.
    Draws refit everything with the attempts and the controls weighted by Gamma(1) (Bayesian bootstrap). The published
    value is their mean, so that sums of probabilities are means of the sums that the draws give.

    Assumptions: features are independent of lag and check given the family; completed attempts meet coincidences as
    often, per node and second, as failed ones do. A program that makes a check fail whenever it fails looks like
    infrastructure.

    References
    ----------
    B. Efron, *Large-Scale Inference* (2010), ch. 2 and 5. D. B. Rubin, "The Bayesian bootstrap", Ann. Stat. 9 (1981).
    A. Asuncion, M. Welling, P. Smyth, Y. W. Teh, "On smoothing and inference for topic models", UAI (2009).
    """
    design = _Design.of(
        suspects=suspects,
        episodes=episodes,
        strata=strata,
        controls=controls,
        control_episodes=control_episodes,
        before_seconds=before_seconds,
        after_seconds=after_seconds,
    )
    suspect_weights = generator.gamma(1.0, size=(DRAWS, len(suspects.stratum)))
    control_weights = generator.gamma(1.0, size=(DRAWS, len(control_episodes.node)))
    probability = np.full((DRAWS, len(episodes.attempt)), 0.5)
    changing = np.arange(DRAWS)
    for _ in range(_MAX_STEPS):
        before = probability[changing]
        odds = design.odds(before, suspect_weights[changing], control_weights[changing])
        improved = odds / (1.0 + odds @ design.of_attempts @ design.of_attempts.T)
        probability[changing] = (before + improved) / 2
        changing = changing[np.abs(improved - before).max(axis=1, initial=0.0) >= _TOLERANCE]
        if not len(changing):
            break
    return Posterior(probability.mean(axis=0), probability)


@dataclass(frozen=True)
class _Design:
    """The parts that do not change from step to step."""

    of_attempts: sparse.csr_matrix
    attempt: NDArray[np.int64]
    prior: Prior
    chance_rate: ChanceRate
    cause_checks: Kinds
    cause_looks: CauseLooks
    chance_looks: ChanceLooks
    cause_lags: Kinds
    chance_lags: Kinds
    assumed_lags: Floats
    even_lags: Floats
    log_opportunity: Floats
    beside_control: sparse.csr_matrix
    after_failure: sparse.csr_matrix
    is_explained: NDArray[np.bool_]
    is_control_explained: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        *,
        suspects: Suspects,
        episodes: Episodes,
        strata: Strata,
        controls: Controls,
        control_episodes: Episodes,
        before_seconds: float,
        after_seconds: float,
    ) -> _Design:
        seconds = seconds_by_lag_class(suspects.runtime_seconds, before_seconds, after_seconds)
        lag = lag_class(episodes.lag_seconds)
        own_seconds = np.maximum(seconds[episodes.attempt, lag], 1.0)
        even = seconds_by_lag_class(np.array([before_seconds]), before_seconds, after_seconds)[0]
        looked_at = controls.lag_seconds if controls.lag_seconds.sum() > 0 else even
        assumed_lags = np.where(even > 0, _CAUSE_LAGS, 0.0)
        chance_rate = ChanceRate.of(episodes, controls, control_episodes)
        return cls(
            of_attempts=ones(episodes.attempt, len(suspects.stratum)),
            attempt=episodes.attempt,
            prior=Prior.of(suspects, episodes.attempt, strata),
            chance_rate=chance_rate,
            cause_checks=Kinds.of(np.zeros_like(episodes.check), episodes.check, 1, len(chance_rate.usual_check)),
            cause_looks=CauseLooks.of(episodes),
            chance_looks=ChanceLooks.of(episodes, control_episodes),
            cause_lags=Kinds.of(episodes.family, lag, len(FAMILIES), LAG_CLASSES),
            chance_lags=Kinds.of(
                control_episodes.family, lag_class(control_episodes.lag_seconds), len(FAMILIES), LAG_CLASSES
            ),
            assumed_lags=(assumed_lags / assumed_lags.sum())[lag],
            even_lags=np.tile(looked_at / looked_at.sum(), len(FAMILIES)),
            log_opportunity=np.log(own_seconds) + np.log(np.maximum(suspects.node_count, 1.0))[episodes.attempt],
            beside_control=near(episodes, control_episodes),
            after_failure=after_failure(suspects, episodes),
            is_explained=episodes.is_explained,
            is_control_explained=control_episodes.is_explained,
        )

    def odds(self, probability: Floats, suspect_weights: Floats, control_weights: Floats) -> Floats:
        """Return the odds of each episode from the current probabilities of all others; a row per draw."""
        causes = probability * suspect_weights[:, self.attempt]
        chances = control_weights * (1.0 - self._blamed_controls(probability))
        # Doubtful causes count for less than their probability. Otherwise many coincidences with the same features,
        # each with a small probability, would make these features look typical of causes. Squared probabilities lose
        # one cause in twenty-five.
        looks = self.cause_looks.likelihood(causes * np.sqrt(probability))
        share = self.prior.shares(causes, suspect_weights)
        usual_check = self.chance_rate.usual_check[self.chance_rate.check]
        chance_lags = self.chance_lags.shares(chances, self.even_lags, _LAG_WEIGHT) / np.maximum(self.even_lags, 1e-9)
        log_odds = (
            np.log(share)
            - np.log1p(-share)
            + np.log(self.cause_checks.shares_by_others(causes, usual_check, CHECK_WEIGHT))
            + np.log(self.cause_lags.shares_by_others(causes, self.assumed_lags, _LAG_WEIGHT))
            + np.log(looks)
            - np.log(self.chance_rate.per_second(chances))
            - np.log(chance_lags[:, self.cause_lags.number])
            - np.log(self.chance_looks.likelihood(chances))
            - self.log_opportunity
        )
        unexplained = np.where(
            self.is_explained, _SECOND_FAULT, 1.0 - np.minimum(probability @ self.after_failure, 1.0)
        )
        return np.exp(np.clip(log_odds, -50.0, 50.0)) * np.clip(unexplained, 1e-6, 1.0)

    def _blamed_controls(self, probability: Floats) -> Floats:
        """Return the probability that an event near a completed attempt failed another attempt."""
        return np.where(self.is_control_explained, 1.0, np.minimum(probability @ self.beside_control, 1.0))
