"""Documents of `sacct --json`."""

import json

import pytest


def document(*ends):
    jobs = [{"job_id": number, "time": {"end": end, "start": 1}} for number, end in enumerate(ends, 1)]
    return json.dumps({"meta": {}, "errors": [], "jobs": jobs}, indent=2)


def environments(slurm):
    """Give the format of times that each call of sacct got."""
    return (slurm.folder / "formats").read_text().split("\n")[:-1]


def test_the_same_days_are_asked_for(slurm, pull, files):
    for day in (2, 3, 4, 5):
        slurm.run_first("sacct", f"2026-03-0{day}", 'echo "$SLURM_TIME_FORMAT" >> "$FAKE_SLURM/formats"\n')
    slurm.whole_answer("sacct", "2026-03-04", document(1772586000, 0))  # the fourth of March, 01:00
    for day in (2, 3, 5):
        # As Slurm 22.05 answers for a day without a job.
        nothing = {"errors": [{"description": "Nothing found", "error_number": 9003}], "jobs": []}
        slurm.whole_answer("sacct", f"2026-03-0{day}", json.dumps(nothing))
    result = pull(via="json")
    assert result.problems == [] and result.kinds["sacct"].records == 2
    assert slurm.calls[1] == [
        "sacct", "-a", "-D", "-X", "-S", "2026-03-02T00:00:00", "-E", "2026-03-03T00:00:00", "--json",
    ]  # fmt: skip
    # sacct 22.05 misreads its own window where the format of times is set.
    assert environments(slurm) == ["", "", "", ""]
    names = [f"sacct/pulled-2026-03-0{day}.json" for day in (4, 5)]
    assert [name for name in files("sacct") if not name.endswith("manifest.json")] == names


@pytest.mark.parametrize(
    "text",
    [
        document(1772586000)[:-3],
        "",
        '{"meta": {}}',
        '{"errors": [{"error": "Unable to connect to database", "error_number": 7000}], "jobs": []}',
    ],
)
def test_what_is_no_whole_document_is_refused(slurm, pull, files, text):
    slurm.whole_answer("sacct", "2026-03-04", text)
    for day in (2, 3, 5):
        slurm.whole_answer("sacct", f"2026-03-0{day}", document())
    assert len(pull(via="json").problems) == 1
    assert files("sacct") == []
