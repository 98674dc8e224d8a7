"""Shares are shrunk towards the assumed ones, and a thing does not count for itself."""

import numpy as np
import pytest

from assets.model.shares import Kinds

KINDS = Kinds.of(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), 2, 2)
WEIGHTS = np.array([[1.0, 1.0, 1.0, 1.0], [0.5, 1.0, 0.0, 1.0]])


def test_shares_of_a_group_add_up_to_one():
    found = KINDS.shares(WEIGHTS, np.array([0.7, 0.3, 0.7, 0.3]), 2.0)
    np.testing.assert_allclose(found.reshape(2, 2, 2).sum(axis=2), 1.0)
    np.testing.assert_allclose(found[0], [(2 + 1.4) / 5, (1 + 0.6) / 5, 1.4 / 3, (1 + 0.6) / 3])


def test_a_thing_does_not_vouch_for_itself():
    """The only thing of its group has the assumed share, at any weight."""
    found = KINDS.shares_by_others(WEIGHTS, np.array([0.7, 0.7, 0.3, 0.3]), 2.0)
    np.testing.assert_allclose(found[:, 3], 0.3)
    assert found[0, 0] == pytest.approx((1 + 1.4) / (2 + 2))
    assert found[1, 2] == pytest.approx((0 + 0.6) / (1.5 + 2))
