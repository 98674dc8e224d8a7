"""Features as causes come from the other causes; as coincidences, from those of the same check and family."""

from dataclasses import fields

import numpy as np
import pytest

from assets.model.attribution.evidence import FAMILIES, PERSISTENCE, Episodes
from assets.model.attribution.looks import CauseLooks, ChanceLooks

CHECK = FAMILIES.index("check")
CLEARED, LASTING = PERSISTENCE.index("cleared"), PERSISTENCE.index("lasting")


def seen(*looks):
    """Episodes by check, persistence, companion and drain."""
    count = len(looks)
    check, persistence, companion, drained = (np.array(column) for column in zip(*looks, strict=True))
    rest = {f.name: np.zeros(count) for f in fields(Episodes)}
    return Episodes(
        **{
            **rest,
            "check": check,
            "family": np.full(count, CHECK),
            "persistence": persistence,
            "has_companion": companion.astype(bool),
            "is_drained": drained.astype(bool),
        }
    )


def test_a_cause_alone_looks_as_is_assumed():
    episode = CauseLooks.of(seen((0, LASTING, False, True)))
    certain, doubted = episode.likelihood(np.array([[1.0], [0.0]]))[:, 0]
    assert certain == doubted == pytest.approx(0.75 * 0.7 * 0.6, rel=0.01)


def test_a_cause_looks_as_the_other_causes_do():
    episodes = CauseLooks.of(seen((0, LASTING, True, True), *[(0, CLEARED, False, False)] * 100))
    lasting, cleared = episodes.likelihood(np.ones((1, 101)))[0, :2]
    assert lasting < 0.02 and cleared > 0.8


def test_features_that_go_together_are_counted_once():
    """Half of the causes show all three signs and half show none: together they are no rarer than each of them."""
    looks = [(0, LASTING, True, True), (0, CLEARED, False, False)] * 200
    assert CauseLooks.of(seen(*looks)).likelihood(np.ones((1, 400)))[0, 0] == pytest.approx(0.5, abs=0.05)


def test_a_check_that_is_hardly_seen_has_the_coincidences_of_its_family():
    """Of 100 false alarms of another check 30 lasted and were drained; check 1 had one, a short one."""
    control = seen(*[(0, LASTING, False, True)] * 30, *[(0, CLEARED, False, False)] * 70, (1, CLEARED, False, False))
    found = ChanceLooks.of(seen((1, LASTING, False, True), (0, LASTING, False, True)), control)
    rarely_seen, often_seen = found.likelihood(np.ones((1, 101)))[0]
    assert rarely_seen == pytest.approx(0.26, abs=0.03)
    assert often_seen == pytest.approx(0.29, abs=0.03)


def test_without_a_control_nodes_are_drained_for_what_lasts():
    nothing = seen((0, CLEARED, False, False))
    found = ChanceLooks.of(seen((0, LASTING, False, True), (0, CLEARED, False, True)), nothing)
    lasting, cleared = found.likelihood(np.zeros((1, 1)))[0]
    assert lasting > 5 * cleared
