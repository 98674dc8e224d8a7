"""Conversion of node names to Slurm's lists and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.node_lists import exclude_option, fold
from assets.sources.text.nodelists import expand

NAMES = st.from_regex(r"[a-z]{1,3}(-[a-z])?[0-9]{0,3}(-ib)?", fullmatch=True)


@pytest.mark.parametrize(
    ("names", "line"),
    [
        (["node003"], "node003"),
        (["node003", "node001", "node002"], "node[001-003]"),
        (["n1", "n2", "n10"], "n10,n[1-2]"),
        (["gpu-a-07", "gpu-a-09", "gpu-b-07"], "gpu-a-[07,09],gpu-b-07"),
        (["login", "n99", "n100"], "login,n100,n99"),
        (["r1n4-ib", "r1n5-ib"], "r1n4-ib,r1n5-ib"),
        ([], ""),
    ],
)
def test_lists_are_written_as_slurm_writes_them(names, line):
    assert fold(names) == line


@given(st.lists(NAMES, max_size=20, unique=True))
def test_what_is_folded_expands_again(names):
    assert sorted(expand(fold(names))) == sorted(names)


def test_nobody_to_exclude_is_no_option():
    assert exclude_option([]) is None
    assert exclude_option(["$(reboot)"]) is None
