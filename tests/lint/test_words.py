"""The count of words that plain technical English avoids."""

from tests.lint.words import places, report


def test_words_are_found_and_published_values_are_not():
    text = "Told\nhe cannot\n# tell, too little\nto tell; besides_gone\nof\n-- which 'tells' 'cannot '\n  'tell'"
    assert places(text) == {
        "tell, tells, told": [1, 6], "beside": [], "gone": [], "thereof": [], "anew": [], "of which": [5],
    }  # fmt: skip


def test_a_rate_above_three_times_that_of_others_fails():
    lines, failed = report([("a.md", "word " * 49_999 + "\ntold")], 5)
    assert lines[:2] == ["tell, tells, told: 1, 0.20 per 10,000 words, allowed 2.22", "    a.md:2"] and not failed
    assert report([("a.md", "word " * 49_999 + "beside")], 5)[1]
