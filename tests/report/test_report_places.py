"""What the page of nodes says of racks and switches, and what it says where nobody knows where nodes stand."""

from assets.report.queries import read_frames
from tests.report.planting import own_of, section_of
from tests.report.reading import section, table
from tests.warehouses import filled


def test_places_that_differ_are_named_with_their_limits(demo):
    said = section(demo, "places").text
    assert "fails 5.25 times as often as the rest (3.50 to 7.75)" in said
    assert "Switch leaf3 lost several nodes at once 4 times, where chance gives 0.200" in said
    assert "The data cannot tell of 1 place whether nodes fail more there." in said


def test_the_share_is_of_the_kind_that_shows_most_and_its_job_stands_beside_the_independent_one(demo):
    said = section(demo, "places").text
    assert "16.0% (8.00% to 32.0%) of the failures of nodes come with others of their switch" in said
    assert "A job of 256 GPUs therefore has a mean time to failure of 9.50 h (7.00 h to 13.0 h)" in said
    assert "did each node fail by itself, it would be 8.00 h" in said


def test_the_table_has_every_place_and_the_bad_ones_first(demo):
    rows = table(demo, "Places by how they fail").rows()
    assert [row[2] for row in rows] == ["fails more", "fails together", "no difference", "cannot tell"]
    assert rows[-1][6] == "not compared"


def test_a_place_that_has_all_failures_fails_at_least_so_many_times_as_often(frames):
    rows = [row | {"ratio": None, "high": None} if row["ratio"] == 5.25 else row for row in frames["places"]]
    made = section_of(own_of(frames, places=rows), "nodes", "places")
    assert "fails at least 3.50 times as often as the rest (no node of which failed, lemons aside)" in made.text
    listed = [row[6].split()[:3] for row in table(made, "Places by how they fail").rows()]
    assert listed[0] == ["at", "least", "3.50"]


def test_places_with_the_same_nodes_are_one_finding(tmp_path):
    planted = """
    insert into estimates.est_location_rates (cluster_id, place_kind, place, verdict, ratio, same_nodes_as)
    values
        ('c', 'switch', 's1', 'both', 5.0, 'rack r1'),
        ('c', 'rack', 'r1', 'both', 5.0, 'switch s1'),
        ('c', 'rack', 'r2', 'fails together', 9.0, null),
        ('c', 'rack', 'r3', 'no difference', 1.0, 'switch s3'),
        ('c', 'rack', null, 'both', null, null);
    """
    with filled(tmp_path, planted).reading() as con:
        rows = [(row["place"], row["is_found"], row["is_said"]) for row in read_frames(con, "places")["places"]]
    assert rows == [
        ("r1", True, True), ("s1", True, False), ("r2", True, True), ("r3", False, False), (None, False, False),
    ]  # fmt: skip
