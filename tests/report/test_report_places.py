"""What the page of nodes says of racks and switches, and what it says where nobody knows where nodes stand."""

from tests.report.reading import section, table


def test_places_that_differ_are_named_with_their_limits(demo):
    said = section(demo, "places").text
    assert "fails 5.25 times as often as the rest (3.50 to 7.75)" in said
    assert "Switch leaf3 lost several nodes at once 4 times, where chance gives 0.200" in said
    assert "Of 1 place the data cannot tell." in said


def test_the_share_is_of_the_kind_that_shows_most_and_its_job_stands_beside_the_independent_one(demo):
    said = section(demo, "places").text
    assert "16.0% (8.00% to 32.0%) of the failures of nodes come with others of their switch" in said
    assert "A job of 256 GPUs therefore has a mean time to failure of 9.50 h (7.00 h to 13.0 h)" in said
    assert "did each node fail by itself, it would be 8.00 h" in said


def test_the_table_has_every_place_and_the_bad_ones_first(demo):
    rows = table(demo, "Places by how they fail").rows()
    assert [row[2] for row in rows] == ["fails more", "fails together", "no difference", "cannot tell"]
    assert rows[-1][6] == "not compared"


def test_a_cluster_without_places_says_what_would_bring_them(hall):
    said = section(hall, "places").text
    assert "put topology.conf or a CSV of nodes and racks into inventory/" in said
