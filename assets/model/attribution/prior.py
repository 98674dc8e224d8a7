"""The share of failed attempts that infrastructure ended, by state, size and runtime."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse, special

from assets.model.attribution.evidence import Strata, Suspects
from assets.model.shares import Floats, Places, ones

_ASSUMED_SHARE, _SHARE_WEIGHT = 0.02, 5.0
"""Assumed share of failed attempts that infrastructure ended, and the weight of this assumption in attempts. The
paper has 0.8%; Hu et al., "Characterization of Large Language Model Development in the Datacenter" (2024), have 11%."""
_SPREADS = np.array([0.03, 0.1, 0.3, 1.0, 3.0, 10.0])
"""Squared CV between the rates of strata. Before any failure is seen, all values are equally likely."""


@dataclass(frozen=True)
class Prior:
    """Prior by stratum. Strata of one state fail in proportion to their exposure, with a measured spread.

    This applies to failures by infrastructure and to those by programs, each with its own spread. A stratum with few
    attempts therefore has the share of its state, even with little exposure.

    Attributes
    ----------
    stratum
        Of each suspected episode.
    attempt_count
        Failed attempts by stratum.
    of_episodes, of_suspects, of_states
        Matrices that sum episodes by stratum, suspects by stratum, and strata by state.
    exposure_share
        Share of each stratum in the node-seconds of its state.
    """

    stratum: Places
    attempt_count: Floats
    of_episodes: sparse.csr_matrix
    of_suspects: sparse.csr_matrix
    of_states: sparse.csr_matrix
    exposure_share: Floats

    @classmethod
    def of(cls, suspects: Suspects, attempt: Places, strata: Strata) -> Prior:
        """Assign the suspects, and their episodes, to strata."""
        stratum = suspects.stratum[attempt]
        of_states = ones(strata.state, int(strata.state.max(initial=0)) + 1)
        exposure = strata.node_seconds + 1.0
        return cls(
            stratum,
            strata.attempt_count,
            ones(stratum, len(strata.state)),
            ones(suspects.stratum, len(strata.state)),
            of_states,
            exposure / (exposure @ of_states @ of_states.T),
        )

    def shares(self, causes: Floats, suspect_weights: Floats) -> Floats:
        """Return the share of attempts of each episode's stratum that infrastructure ended.

        Parameters
        ----------
        causes
            Shape (draws, episodes): probability that each episode is a cause, times its weight.
        suspect_weights
            Shape (draws, suspects).

        Returns
        -------
        ndarray
            Shape (draws, episodes).
        """
        failed = causes @ self.of_episodes
        sizes = np.maximum(self.attempt_count + (suspect_weights - 1.0) @ self.of_suspects, failed)
        of_state, size_of_state = failed @ self.of_states, sizes @ self.of_states
        rate = (of_state + _ASSUMED_SHARE * _SHARE_WEIGHT) / (size_of_state + _SHARE_WEIGHT)
        by_infrastructure = self._drawn_to_exposure(failed, rate * size_of_state)
        by_programs = self._drawn_to_exposure(sizes - failed, (1.0 - rate) * size_of_state)
        return np.clip(by_infrastructure / (by_infrastructure + by_programs), 1e-9, 0.999)[:, self.stratum]

    def _drawn_to_exposure(self, failed: Floats, of_state: Floats) -> Floats:
        """Shrink failures by stratum towards the stratum's share of exposure times the failures of its state.

        These are Gamma-Poisson means, averaged over all spreads. A spread is weighted by the likelihood of all strata
        of the draw: the density of the negative binomial.
        """
        shape, count = 1.0 / _SPREADS[:, None, None], failed[None]
        mean = (of_state @ self.of_states.T * self.exposure_share)[None]
        density = (
            special.gammaln(count + shape)
            - special.gammaln(shape)
            - shape * np.log1p(mean / shape)
            + special.xlogy(count, mean / (shape + mean))
        )
        weights = special.softmax(density.sum(axis=2, keepdims=True), axis=0)
        drawn: Floats = (weights * mean * (shape + count) / (shape + mean)).sum(axis=0)
        return drawn
