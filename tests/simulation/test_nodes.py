"""The pool of nodes under random use: its free GPUs agree with a plain count."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from assets.simulation.nodes import NodePool

NODES, GPUS = 5, 8
STEP = st.one_of(
    st.tuples(st.just("take"), st.sampled_from([1, 2, 4, 8, 16, 24])),
    st.tuples(st.just("release"), st.integers(0, 30)),
    st.tuples(st.just("close"), st.integers(0, NODES - 1)),
    st.tuples(st.just("open"), st.integers(0, NODES - 1)),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(STEP, max_size=60))
def test_free_gpus_are_those_nobody_holds(steps: list[tuple[str, int]]) -> None:
    pool, held = NodePool(NODES, GPUS), dict[int, tuple[list[int], int]]()
    for number, (kind, value) in enumerate(steps):
        if kind == "take":
            spot: tuple[list[int], int] | None = None
            if value >= GPUS:
                nodes = pool.place_gang(value // GPUS, pool.idle)
                spot = (nodes, pool.full) if nodes is not None else None
            else:
                small = pool.place_small(value, pool.idle)
                spot = ([small[0]], small[1]) if small is not None else None
            if spot is not None:
                assert all(pool.accepts[node] for node in spot[0])
                assert spot[1].bit_count() * len(spot[0]) == value
                pool.take(number, *spot, hold_until=number)
                held[number] = spot
        elif kind == "release" and held:
            occupant = sorted(held)[value % len(held)]
            pool.release(occupant, *held.pop(occupant))
        elif kind in ("close", "open"):
            pool.set_accepts(value, kind == "open")
        for node in range(NODES):
            used = [mask for nodes, mask in held.values() if node in nodes]
            assert sum(mask.bit_count() for mask in used) == GPUS - pool.free[node].bit_count()
            assert pool.idle[node] == (not used and pool.accepts[node])
            assert pool.occupants[node].keys() == {occupant for occupant, (nodes, _) in held.items() if node in nodes}
            assert pool.hold_until[node] == max(pool.occupants[node].values(), default=0)
        assert pool.idle_count == pool.idle.sum()
