"""The grid has the paper's golden values, and its line divides it."""


def test_every_combination_is_there_once(rows):
    found = rows("est_ettr_grid")
    keys = {tuple(row[name] for name in ("scenario", "gpu_count", "failures_per_1000_node_days", "checkpoint_minutes"))
            for row in found}  # fmt: skip
    assert len(found) == len(keys) == 4 * 12 * 10 * 12


def test_the_line_lies_between_what_reaches_the_target_and_what_misses_it(rows):
    found = rows("est_ettr_grid", scenario="async_writes", gpu_count=16_000, failures_per_1000_node_days=6.5)
    line = found[0]["checkpoint_minutes_longest"]
    assert 5 < line < 10
    reached = {row["checkpoint_minutes"]: row["ettr_expected_exact"] >= row["ettr_target"] for row in found}
    assert reached[5.0] and reached[7.0]
    assert not any(is_reached for minutes, is_reached in reached.items() if minutes > line)
