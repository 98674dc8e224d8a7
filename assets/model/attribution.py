"""Posterior probability that the evidence beside a failed attempt belongs to its failure, and is no coincidence.

Two groups (Efron 2010): events that happen at any time, whose rate and looks are measured on attempts that COMPLETED,
and events that ended an attempt, whose share and looks are found by expectation-maximisation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

LAG_EDGES = (-300.0, -120.0, -30.0, 0.0, 30.0, 120.0)
"""Borders of the classes of lag, the seconds from the end of the attempt to the event; a lag of 0 is before the end."""
LAG_CLASSES = len(LAG_EDGES) + 1

FAMILIES = ("check", "failures_only", "point_check", "kernel", "reason")
"""What an event comes from: a check whose good results are logged too, one that logs only failures, one that runs with
the job, the kernel's log, a reason that a node was given."""
PERSISTENCE = ("cleared", "missing", "lasting")
"""What became of a symptom: good again within 20 minutes; unknown; still failing 2.5 to 17 minutes later."""

DRAWS = 50
"""How many sets of parameters stand for their uncertainty."""

_FEATURES = 2 * 2 * len(PERSISTENCE)
_CAUSE_LAGS = (0.06, 0.10, 0.18, 0.30, 0.16, 0.12, 0.08)


@dataclass(frozen=True)
class _Assumption:
    """Share of events with a companion, on a drained node, and by persistence: of checks, of checks without results."""

    companion: float
    drained: float
    persistence: tuple[float, float, float]
    persistence_unseen: tuple[float, float, float]


_CAUSE = _Assumption(0.3, 0.6, (0.15, 0.10, 0.75), (0.0, 0.3, 0.7))
_CHANCE = _Assumption(0.03, 0.10, (0.65, 0.10, 0.25), (0.0, 0.7, 0.3))
"""What is assumed where a cluster has shown little: the share of events with each feature under cause and chance."""
_ASSUMED_WEIGHT = 10.0
"""Events that these assumptions weigh as much as."""
_CHECK_WEIGHT = 10.0
"""Events by which the shares of single checks are drawn to the share that all events have."""
_LOOKS_WEIGHT = 5.0
"""Coincidences by which the looks of a single check are drawn to those of its family."""
_CHANCE_HITS, _CHANCE_RATE = 0.5, 0.003 / 900
"""Weight in events, and rate per node-second, of what is assumed of coincidence before any attempt COMPLETED; the paper
has less than 1% of completed jobs beside a failed check."""
_ASSUMED_SHARE, _SHARE_WEIGHT = 0.01, 5.0
"""Share of failed attempts that infrastructure ended, and the attempts that this assumption weighs as much as."""
_STRATUM_WEIGHT = 1.0
"""Failures by which a stratum's share is drawn to what its exposure lets expect."""
_AFTERMATH_SECONDS = 900.0
"""A fault goes on to show for so long after the failure."""
_SECOND_FAULT = 1e-3
"""Share of what a node shows within minutes of a failure that Slurm blames on it, and that is a fault of its own."""
_TOGETHER_SECONDS = 60.0
"""Attempts that a fault ends on a node end within so long."""
_MAX_STEPS, _TOLERANCE = 200, 1e-7


@dataclass(frozen=True)
class Episodes:
    """Events on one node within minutes, beside the end of one attempt; arrays of one length, a value per episode.

    Attributes
    ----------
    attempt
        Number of the attempt, from 0; an attempt may have several episodes.
    check
        Number of the check, or kind of message, of that event, from 0.
    family, persistence
        Places in `FAMILIES` and `PERSISTENCE`.
    lag_seconds
        From the end of the attempt to the event.
    has_companion, is_drained
        Whether another check or message spoke of the node within 5 minutes; whether the node was taken out of service
        within 15 minutes.
    node
        Number of the node.
    observed_at
        When the episode was first seen; seconds since any moment.
    is_explained
        Whether a failure that Slurm itself blames on the node, a little earlier, explains what is seen.
    """

    attempt: NDArray[np.int64]
    check: NDArray[np.int64]
    family: NDArray[np.int64]
    persistence: NDArray[np.int64]
    lag_seconds: NDArray[np.float64]
    has_companion: NDArray[np.bool_]
    is_drained: NDArray[np.bool_]
    node: NDArray[np.int64]
    observed_at: NDArray[np.float64]
    is_explained: NDArray[np.bool_]


@dataclass(frozen=True)
class Suspects:
    """Attempts that infrastructure may have failed and that have episodes; a value per attempt.

    Attributes
    ----------
    stratum
        Number of the stratum of state, size and runtime, from 0.
    node_count
        Allocated nodes.
    runtime_seconds
        Runtime, which cuts the window before the end.
    started_at, ended_at
        Seconds since the same moment as `Episodes.observed_at`.
    """

    stratum: NDArray[np.int64]
    node_count: NDArray[np.float64]
    runtime_seconds: NDArray[np.float64]
    started_at: NDArray[np.float64]
    ended_at: NDArray[np.float64]


@dataclass(frozen=True)
class Strata:
    """Classes of failed attempts among which infrastructure is to blame about equally often; a value per stratum.

    Attributes
    ----------
    attempt_count
        Failed attempts, with events or without.
    node_seconds
        How long attempts of this size ran at this age, however they ended: the exposure to failures.
    state
        Number of the state, from 0; strata of one state share what little they know.
    """

    attempt_count: NDArray[np.float64]
    node_seconds: NDArray[np.float64]
    state: NDArray[np.int64]


@dataclass(frozen=True)
class Controls:
    """How long attempts that COMPLETED were looked at.

    Attributes
    ----------
    node_seconds
        Shape (nodes,): seconds that a node spent in windows of completed attempts.
    node_class
        Shape (nodes,): number of the node's class, from 0.
    lag_seconds
        Shape (LAG_CLASSES,): node-seconds of all these windows by class of lag.
    rest_node, rest_check, rest_count
        One length, a value per node and check: how many events the check had on the node beside no failed attempt.
    """

    node_seconds: NDArray[np.float64]
    node_class: NDArray[np.int64]
    lag_seconds: NDArray[np.float64]
    rest_node: NDArray[np.int64]
    rest_check: NDArray[np.int64]
    rest_count: NDArray[np.float64]


@dataclass(frozen=True)
class Posterior:
    """What was found.

    Attributes
    ----------
    probability
        Shape (episodes,): probability that the episode ended its attempt, the mean of `draws`. Over one attempt they
        add up to 1 at most.
    draws
        Shape (DRAWS, episodes): the same under each of so many sets of parameters that the data allow.
    cause_ratio
        Shape (strata,): share of all attempts of the stratum that evidence explains beyond chance.
    chance_per_node_day
        Coincidences to expect on a node in a day of window.
    """

    probability: NDArray[np.float64]
    draws: NDArray[np.float64]
    cause_ratio: NDArray[np.float64]
    chance_per_node_day: float


def lag_class(lag_seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Place lags, in seconds, into the classes of `LAG_EDGES`; a border belongs to the class before it."""
    return np.searchsorted(LAG_EDGES, lag_seconds, side="left")


def seconds_by_lag_class(
    runtime_seconds: NDArray[np.float64], before_seconds: float, after_seconds: float
) -> NDArray[np.float64]:
    """Cut windows into the classes of lag.

    Parameters
    ----------
    runtime_seconds
        Shape (n,): what happened before the attempt began is no evidence.
    before_seconds, after_seconds
        The window around the end.

    Returns
    -------
    ndarray
        Shape (n, LAG_CLASSES), seconds.

    Examples
    --------
    >>> seconds_by_lag_class(np.array([60.0]), 600, 300).tolist()
    [[0.0, 0.0, 30.0, 30.0, 30.0, 90.0, 180.0]]
    """
    low = -np.minimum(np.asarray(runtime_seconds, dtype=float), before_seconds)[:, None]
    edges = np.array([-np.inf, *LAG_EDGES, np.inf])
    return np.clip(np.minimum(edges[1:], after_seconds) - np.maximum(edges[:-1], low), 0.0, None)


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
    """Tell causes from coincidences.

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
    the node is (Gamma-Poisson, from its events beside no failed attempt), times the check's share. An attempt of
    stratum s was ended by infrastructure with probability theta_s; then one more episode lies on one of its N nodes, of
    check c with probability g_c, in lag class b with probability h_b, with features x with probability f1_x.
    The odds that episode j is that one are ::

        theta_s / (1 - theta_s) * g_c h_b f1_x / N / (beta_cn L_b r_b f0_x)

    where L_b are the seconds of the lag class in the attempt's window, r_b is how much denser than evenly coincidences
    lie in it, f0_x is the share of features among the check's own coincidences, drawn to that of its family. Over the
    episodes of one attempt, p_j = odds_j / (1 + sum of odds).
    Chance is read off the controls; theta, g, h and f1 are found by expectation-maximisation. An event that the fit
    blames for a failure counts in the controls by the rest of its probability only: a node that others share shows it
    beside their ends as well. What a fault shows after the attempt that it failed is no evidence for the next attempt
    on the node, nor for an attempt that shared the node and ended another minute, farther from it.
    Draws refit everything with the attempts and the controls weighted by Gamma(1) (Bayesian bootstrap). Their mean is
    published: the best single fit takes its parameters as known, and is too sure of itself. On four sets of eight
    clusters with planted causes it costs 13% more by the logarithmic score.

    Assumptions: features are independent of lag and check given the family; completed attempts meet coincidences as
    often, per node and second, as failed ones do. A program that makes a check fail whenever it fails looks like
    infrastructure.

    References
    ----------
    B. Efron, *Large-Scale Inference* (2010), ch. 2 and 5. D. B. Rubin, "The Bayesian bootstrap", Ann. Stat. 9 (1981).
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
    suspect_weights = np.ones((DRAWS + 1, len(suspects.stratum)))
    control_weights = np.ones((DRAWS + 1, len(control_episodes.node)))
    suspect_weights[1:] = generator.gamma(1.0, size=suspect_weights[1:].shape)
    control_weights[1:] = generator.gamma(1.0, size=control_weights[1:].shape)
    probability = np.full((DRAWS + 1, len(episodes.attempt)), 0.5)
    share = np.zeros((DRAWS + 1, len(strata.state)))
    for _ in range(_MAX_STEPS):
        odds, share = design.odds(probability, suspect_weights, control_weights)
        improved = odds / (1.0 + odds @ design.of_attempt @ design.of_attempt.T)
        change = np.abs(improved - probability).max(initial=0.0)
        probability = improved
        if change < _TOLERANCE:
            break
    hits, seconds = len(control_episodes.node), float(controls.lag_seconds.sum())
    rate = (hits + _CHANCE_HITS) / (seconds + _CHANCE_HITS / _CHANCE_RATE)
    return Posterior(probability[1:].mean(axis=0), probability[1:], share[0], 86400 * rate)


@dataclass(frozen=True)
class _Design:
    """What does not change from step to step; matrices of ones and zeros that add up over rows."""

    of_attempt: sparse.csr_matrix
    of_stratum: sparse.csr_matrix
    of_state: sparse.csr_matrix
    strata: Strata
    stratum: NDArray[np.int64]
    attempt: NDArray[np.int64]
    check: NDArray[np.int64]
    looks: NDArray[np.int64]
    lags: NDArray[np.int64]
    of_check: sparse.csr_matrix
    of_looks: sparse.csr_matrix
    of_lags: sparse.csr_matrix
    control_of_check: sparse.csr_matrix
    control_of_looks: sparse.csr_matrix
    own_looks: NDArray[np.int64]
    looks_of_own: NDArray[np.int64]
    control_of_own_looks: sparse.csr_matrix
    control_of_own_family: sparse.csr_matrix
    control_of_lags: sparse.csr_matrix
    control_of_class: sparse.csr_matrix
    beside_control: sparse.csr_matrix
    after_failure: sparse.csr_matrix
    is_explained: NDArray[np.bool_]
    is_control_explained: NDArray[np.bool_]
    base_check: NDArray[np.float64]
    cause_looks: NDArray[np.float64]
    chance_looks: NDArray[np.float64]
    cause_lags: NDArray[np.float64]
    lag_share: NDArray[np.float64]
    node_class: NDArray[np.int64]
    proneness: NDArray[np.float64]
    own_proneness: NDArray[np.float64]
    class_seconds: NDArray[np.float64]
    log_opportunity: NDArray[np.float64]

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
        seen = (episodes.check, control_episodes.check, controls.rest_check)
        checks = max(int(check.max(initial=0)) for check in seen) + 1
        nodes = len(controls.node_seconds)
        classes = int(controls.node_class.max(initial=0)) + 1
        counted = np.bincount(episodes.check, minlength=checks) + np.bincount(control_episodes.check, minlength=checks)
        base_check = (counted + 1.0 / checks) / (counted.sum() + 1.0)
        proneness, of_node = _proneness(controls, nodes, checks)
        # What the node's events would be if they fell on checks as those of all nodes do.
        of_check = np.outer(of_node.sum(axis=1), of_node.sum(axis=0) / max(of_node.sum(), 1.0))
        seconds = seconds_by_lag_class(suspects.runtime_seconds, before_seconds, after_seconds)
        lag = lag_class(episodes.lag_seconds)
        own_seconds = np.maximum(seconds[episodes.attempt, lag], 1.0)
        total_lag = controls.lag_seconds.sum()
        even = seconds_by_lag_class(np.array([before_seconds]), before_seconds, after_seconds)[0]
        lag_share = controls.lag_seconds / total_lag if total_lag > 0 else even / even.sum()
        looks, control_looks = _looks(episodes), _looks(control_episodes)
        cause_lags = np.where(even > 0, _CAUSE_LAGS, 0.0)
        owned, own_looks = np.unique(_own_looks(episodes), return_inverse=True)
        return cls(
            of_attempt=_ones(episodes.attempt, len(suspects.stratum)),
            of_stratum=_ones(suspects.stratum, len(strata.state)),
            of_state=_ones(strata.state, int(strata.state.max(initial=0)) + 1),
            strata=strata,
            stratum=suspects.stratum[episodes.attempt],
            attempt=episodes.attempt,
            check=episodes.check,
            looks=looks,
            lags=episodes.family * LAG_CLASSES + lag,
            of_check=_ones(episodes.check, checks),
            of_looks=_ones(looks, len(FAMILIES) * _FEATURES),
            of_lags=_ones(episodes.family * LAG_CLASSES + lag, len(FAMILIES) * LAG_CLASSES),
            control_of_check=_ones(control_episodes.check, checks),
            control_of_looks=_ones(control_looks, len(FAMILIES) * _FEATURES),
            own_looks=own_looks,
            looks_of_own=owned % (len(FAMILIES) * _FEATURES),
            control_of_own_looks=_equal(_own_looks(control_episodes), owned),
            control_of_own_family=_equal(_own_looks(control_episodes) // _FEATURES, owned // _FEATURES),
            control_of_lags=_ones(
                control_episodes.family * LAG_CLASSES + lag_class(control_episodes.lag_seconds),
                len(FAMILIES) * LAG_CLASSES,
            ),
            control_of_class=_ones(controls.node_class[control_episodes.node], classes),
            beside_control=_near(episodes, control_episodes),
            after_failure=_after_failure(suspects, episodes),
            is_explained=episodes.is_explained,
            is_control_explained=control_episodes.is_explained,
            base_check=base_check,
            cause_looks=_assumed(_CAUSE),
            chance_looks=_assumed(_CHANCE),
            cause_lags=cause_lags / cause_lags.sum(),
            lag_share=lag_share,
            node_class=controls.node_class[episodes.node],
            proneness=proneness[episodes.node],
            own_proneness=((of_node + _CHECK_WEIGHT) / (of_check + _CHECK_WEIGHT))[episodes.node, episodes.check],
            class_seconds=np.bincount(controls.node_class, controls.node_seconds * proneness, minlength=classes).astype(
                float
            ),
            log_opportunity=np.log(own_seconds) + np.log(np.maximum(suspects.node_count, 1.0))[episodes.attempt],
        )

    def odds(
        self,
        probability: NDArray[np.float64],
        suspect_weights: NDArray[np.float64],
        control_weights: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """One step: parameters from the probabilities so far, odds from the parameters; a row per draw."""
        causes = probability * suspect_weights[:, self.attempt]
        blamed = self._blamed_controls(probability)
        chances = control_weights * (1.0 - blamed)
        share = self._shares(causes, suspect_weights)
        cause_check = _drawn_to(causes @ self.of_check, self.base_check, _CHECK_WEIGHT)
        chance_check = _drawn_to(chances @ self.control_of_check, self.base_check, _CHECK_WEIGHT)
        # Squared: what is hardly a cause would otherwise teach the fit that causes look like it, and become one.
        cause_looks = _product_by_family((causes * probability) @ self.of_looks, self.cause_looks)
        of_family = _by_family(chances @ self.control_of_looks, self.chance_looks, _FEATURES, mean=True)
        chance_looks = (chances @ self.control_of_own_looks + _LOOKS_WEIGHT * of_family[:, self.looks_of_own]) / (
            chances @ self.control_of_own_family + _LOOKS_WEIGHT
        )
        cause_lags = _by_family(causes @ self.of_lags, np.tile(self.cause_lags, len(FAMILIES)), LAG_CLASSES)
        chance_lags = _by_family(
            chances @ self.control_of_lags, np.tile(self.lag_share, len(FAMILIES)), LAG_CLASSES
        ) / np.tile(np.maximum(self.lag_share, 1e-9), len(FAMILIES))
        rate = (chances @ self.control_of_class + _CHANCE_HITS) / (self.class_seconds + _CHANCE_HITS / _CHANCE_RATE)
        beta = rate[:, self.node_class] * self.proneness * self.own_proneness * chance_check[:, self.check]
        theta = share[:, self.stratum]
        log_odds = (
            np.log(theta)
            - np.log1p(-theta)
            + np.log(cause_check[:, self.check] / beta)
            + np.log(cause_lags[:, self.lags] / chance_lags[:, self.lags])
            + np.log(np.maximum(cause_looks[:, self.looks], 1e-100) / chance_looks[:, self.own_looks])
            - self.log_opportunity
        )
        unexplained = np.where(
            self.is_explained, _SECOND_FAULT, 1.0 - np.minimum(probability @ self.after_failure, 1.0)
        )
        return np.exp(np.clip(log_odds, -50.0, 50.0)) * np.clip(unexplained, 1e-6, 1.0), share

    def _blamed_controls(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability that what is seen beside a completed attempt failed another attempt."""
        return np.where(self.is_control_explained, 1.0, np.minimum(probability @ self.beside_control, 1.0))

    def _shares(self, causes: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Share of each stratum's attempts that infrastructure ended.

        Faults strike in proportion to exposure: that is the prior of each stratum, with the weight of one failure.
        """
        failed = causes @ self.of_attempt @ self.of_stratum
        sizes = np.maximum(self.strata.attempt_count + (weights - 1.0) @ self.of_stratum, failed)
        of_state = (failed @ self.of_state + _ASSUMED_SHARE * _SHARE_WEIGHT) / (sizes @ self.of_state + _SHARE_WEIGHT)
        exposure = self.strata.node_seconds + 1.0
        expected = (
            (of_state * (sizes @ self.of_state))
            @ self.of_state.T
            * exposure
            / (exposure @ self.of_state @ self.of_state.T)
        )
        events = expected * (_STRATUM_WEIGHT + failed) / (_STRATUM_WEIGHT + expected)
        return np.clip(events / np.maximum(sizes, 1.0), 1e-9, 0.999)


def _proneness(controls: Controls, nodes: int, checks: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How many times as often as its class a node has false alarms (Gamma-Poisson), and its events by check."""
    of_node = np.zeros((nodes, checks))
    np.add.at(of_node, (controls.rest_node, controls.rest_check), controls.rest_count)
    hits = of_node.sum(axis=1)
    members = np.bincount(controls.node_class)
    expected = (np.bincount(controls.node_class, hits) / np.maximum(members, 1))[controls.node_class]
    spread = ((hits * (hits - 1.0)).sum() + 1.0) / ((expected**2).sum() + 1.0) - 1.0
    shape = 1.0 / np.clip(spread, 0.02, 10.0)
    return (shape + hits) / (shape + expected), of_node


def _ones(place: NDArray[np.int64], width: int) -> sparse.csr_matrix:
    rows = np.arange(len(place))
    return sparse.csr_matrix((np.ones(len(place)), (rows, place)), shape=(len(place), width))


def _pairs(one: Episodes, other: Episodes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of episodes on one node at most the aftermath of a fault apart."""
    order = np.lexsort((other.observed_at, other.node))
    span = max(np.ptp(np.concatenate([one.observed_at, other.observed_at, [0.0]])), 1.0) + 10 * _AFTERMATH_SECONDS
    start = min(one.observed_at.min(initial=np.inf), other.observed_at.min(initial=np.inf), 1e300)
    keys = other.node[order] * span + (other.observed_at[order] - start)
    wanted = one.node * span + (one.observed_at - start)
    first = np.searchsorted(keys, wanted - _AFTERMATH_SECONDS, side="left")
    last = np.searchsorted(keys, wanted + _AFTERMATH_SECONDS, side="right")
    counts = last - first
    rows = np.repeat(np.arange(len(wanted)), counts)
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    return rows, order[places]


def _near(episodes: Episodes, control_episodes: Episodes) -> sparse.csr_matrix:
    """Matrix (episodes, controls) with a one where both may show the same fault."""
    rows, places = _pairs(episodes, control_episodes)
    shape = (len(episodes.node), len(control_episodes.node))
    return sparse.csr_matrix((np.ones(len(rows)), (rows, places)), shape=shape)


def _after_failure(suspects: Suspects, episodes: Episodes) -> sparse.csr_matrix:
    """Matrix (episodes, episodes) with a one where the failure of the first's attempt would explain the second."""
    rows, places = _pairs(episodes, episodes)
    one, other = episodes.attempt[rows], episodes.attempt[places]
    is_later = suspects.ended_at[one] <= suspects.started_at[other] + 1.0
    # Of jobs that share a node a fault ends all at once: those that ended a minute apart did not fail together.
    is_beside = (
        (suspects.started_at[one] < suspects.ended_at[other])
        & (suspects.started_at[other] < suspects.ended_at[one])
        & (np.abs(suspects.ended_at[one] - suspects.ended_at[other]) > _TOGETHER_SECONDS)
        & (np.abs(episodes.lag_seconds[rows]) < np.abs(episodes.lag_seconds[places]))
    )
    rows, places = rows[is_later | is_beside], places[is_later | is_beside]
    return sparse.csr_matrix((np.ones(len(rows)), (rows, places)), shape=(len(episodes.node), len(episodes.node)))


def _looks(episodes: Episodes) -> NDArray[np.int64]:
    """Give family, persistence, companion and drain one number."""
    place = episodes.family * len(PERSISTENCE) + episodes.persistence
    return (place * 2 + episodes.has_companion) * 2 + episodes.is_drained


def _own_looks(episodes: Episodes) -> NDArray[np.int64]:
    """Give check, family, persistence, companion and drain one number."""
    return episodes.check * len(FAMILIES) * _FEATURES + _looks(episodes)


def _equal(numbers: NDArray[np.int64], wanted: NDArray[np.int64]) -> sparse.csr_matrix:
    """Matrix (numbers, wanted) with a one where both are the same; a number may be wanted several times."""
    order = np.argsort(wanted, kind="stable")
    first = np.searchsorted(wanted[order], numbers, side="left")
    counts = np.searchsorted(wanted[order], numbers, side="right") - first
    rows = np.repeat(np.arange(len(numbers)), counts)
    places = order[np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts - first, counts)]
    return sparse.csr_matrix((np.ones(len(rows)), (rows, places)), shape=(len(numbers), len(wanted)))


def _assumed(assumption: _Assumption) -> NDArray[np.float64]:
    """Joint shares of features, family by family; what a family cannot show is nearly impossible."""
    persistences = {"check": assumption.persistence, "failures_only": assumption.persistence_unseen}
    tables = []
    for family in FAMILIES:
        persistence = np.array(persistences.get(family, (0.0, 1.0, 0.0))) + 1e-3
        companion = np.array([1.0 - assumption.companion, assumption.companion])
        # A reason is given to a node when it is taken out of service: that says nothing more.
        drained = np.array([0.5, 0.5] if family == "reason" else [1.0 - assumption.drained, assumption.drained])
        joint = persistence[:, None, None] * companion[None, :, None] * drained[None, None, :]
        tables.append((joint / joint.sum()).ravel())
    return np.concatenate(tables)


def _drawn_to(counts: NDArray[np.float64], base: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
    """Shares, drawn to assumed ones: geometric means of their Dirichlet distribution.

    Expectation-maximisation with arithmetic means fits causes to the noise of coincidences, and counts a tenth too many
    of thirty (variational Bayes; Bishop, *Pattern Recognition and Machine Learning*, ch. 10.2).
    """
    pseudo_counts = counts + weight * base
    return np.exp(special.digamma(pseudo_counts) - special.digamma(pseudo_counts.sum(axis=-1, keepdims=True)))


def _product_by_family(counts: NDArray[np.float64], assumed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares of persistence, companion and drain within each family, each drawn to what is assumed, multiplied.

    With a share for each combination, coincidences that look alike would make up a kind of cause of their own.
    """
    shape = (-1, len(FAMILIES), len(PERSISTENCE), 2, 2)
    counts, assumed = counts.reshape(shape), assumed.reshape(shape)
    shares = np.ones_like(counts)
    for axis in (2, 3, 4):
        others = tuple({2, 3, 4} - {axis})
        own = _drawn_to(counts.sum(axis=others), assumed.sum(axis=others), _ASSUMED_WEIGHT)
        shares = shares * np.expand_dims(own, others)
    return shares.reshape(len(counts), -1)


def _by_family(
    counts: NDArray[np.float64], assumed: NDArray[np.float64], width: int, *, mean: bool = False
) -> NDArray[np.float64]:
    """Shares within each family, drawn to what is assumed; arithmetic means on demand."""
    counts, assumed = counts.reshape(len(counts), -1, width), assumed.reshape(-1, width)[None]
    if mean:
        shares = (counts + _ASSUMED_WEIGHT * assumed) / (counts.sum(axis=-1, keepdims=True) + _ASSUMED_WEIGHT)
    else:
        shares = _drawn_to(counts, assumed, _ASSUMED_WEIGHT)
    return shares.reshape(len(counts), -1)
