"""From an export of several clusters, the rows of the folder's cluster are read, or the export is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from assets.sources.formats import READERS
from tests.logs import BASE, export
from tests.sources.folders import facts, load, make, rows

Record = Mapping[str, str]
OWN = [{"JobID": str(number), "User": "alice"} for number in range(1, 21)]
OTHERS = [{**record, "User": "bob", "Cluster": "far", "NodeList": "far001"} for record in OWN]


def mixed(seed: int) -> list[Record]:
    records: list[Record] = [*OWN, *OTHERS]
    random.Random(seed).shuffle(records)
    return records


def as_json(records: Sequence[Record]) -> str:
    full = [{**BASE, **record} for record in records]
    return json.dumps(
        {
            "jobs": [
                {
                    "job_id": int(record["JobID"]), "user": record["User"], "cluster": record["Cluster"],
                    "association": {"cluster": record["Cluster"]}, "nodes": record["NodeList"],
                    "state": {"current": ["COMPLETED"]},
                    "time": {"submission": 1714550000, "start": 1714550100, "end": 1714553700, "elapsed": 3600},
                    "exit_code": {"return_code": 0},
                }
                for record in full
            ],
            "meta": {"plugin": {"data_parser": "data_parser/v0.0.41"}},
        }
    )  # fmt: skip


FORMS = {
    "whole": export,
    "by lines": lambda records: export(records).replace("\n", "\r\n"),
    "json": as_json,
}


def skips(con: Any) -> dict[str, int]:
    return dict(con.execute("select reason, line_count from ops.skips").fetchall())


OTHER_NAMES = {
    "none": ("", None),
    "other-case": ('slurm_cluster = "Far"', OTHERS),
    "own": ('slurm_cluster = "c1"', OWN),
    "pulled": ('[pull]\nslurm_cluster = "far"', OTHERS),
    "own-before-pulled": ('slurm_cluster = "c1"\n[pull]\nslurm_cluster = "far"', OWN),
    "stranger": ('slurm_cluster = "near"', None),
}
"""By folder: its cluster.toml, and the records that are read from c1's and far's; None if it is refused."""


@pytest.fixture(scope="module")
def loaded_by_other_names(tmp_path_factory):
    """Every form in each of these folders, loaded at once."""
    texts = {f"{name}/cluster.toml": settings for name, (settings, _) in OTHER_NAMES.items()}
    files = {f"{name}/sacct/{form}": write(mixed(1)) for name in OTHER_NAMES for form, write in FORMS.items()}
    return load(make(tmp_path_factory.mktemp("names"), {**texts, **files}))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", OTHER_NAMES)
def test_where_the_folder_has_another_name_slurms_name_decides(form, name, loaded_by_other_names):
    is_file = f"where path = '{name}/sacct/{form}'"
    (file,) = rows(loaded_by_other_names, f"select status, reason, next_step, warnings from ops.files {is_file}")
    found = rows(loaded_by_other_names, f"select user_name from raw.sacct {is_file}")
    read = OTHER_NAMES[name][1]
    if read is None:
        assert (file["status"], found) == ("refused", [])
        assert file["reason"].startswith("several_clusters: its rows are of c1, far, and none of these is ")
        assert file["next_step"].startswith(f"Set slurm_cluster in {name}/cluster.toml")
    else:
        assert (file["status"], file["warnings"]) == ("read", [])
        assert {row["user_name"] for row in found} == {read[0]["User"]}


@pytest.mark.parametrize("settings", ["", 'slurm_cluster = "far"', 'slurm_cluster = "FAR"'])
def test_a_file_of_one_cluster_is_read_whatever_its_name(settings, tmp_path):
    con = load(make(tmp_path, {"c1/sacct/a": export(OTHERS), "c1/cluster.toml": settings}))
    assert len(facts(con)) == len(OTHERS)
    (file,) = rows(con, "select warnings from ops.files")
    assert file["warnings"] == ([] if settings else ["other_cluster: rows say 'far', the folder is 'c1'"])


def test_odd_records_and_steps_of_other_clusters(tmp_path):
    """Records over two lines, with the delimiter in a name, steps, wrong values, and records that name no cluster."""
    odd = [
        {**OTHERS[0], "JobName": "two\nlines"},
        {**OTHERS[1], "JobName": "a|b"},
        {**OTHERS[2], "JobID": "3.batch", "JobIDRaw": "3"},
        {**OTHERS[3], "State": "STRANGE"},
        {**OWN[4], "JobName": "a|b"},
        {**OWN[5], "State": "STRANGE"},
        {**OWN[6], "Cluster": ""},
        {**OWN[7], "Cluster": "C1"},
    ]
    con = load(make(tmp_path, {"c1/sacct/a": export([*odd, *OWN[8:]])}))
    assert skips(con) == {"continuation": 1, "header": 1, "other_cluster": 3, "step": 1}
    assert rows(con, "select reason from ops.quarantine") == [{"reason": "unknown_state"}]
    assert {row["job_id_raw"] for row in rows(con, "select job_id_raw from raw.sacct")} == {5, 7, 8, *range(9, 21)}
    assert rows(con, "select node_id from raw.node_names") == [{"node_id": "node001"}]


EVENTS = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
OWN_EVENT, FAR_EVENT, ODD_EVENT = (
    "c1|node001|1714550400|1714554000|DOWN|x|root(0)\n",
    "far|node001|1714560000|1714564000|DOWN|y|root(0)\n",
    "far|node001|yesterday|1714564000|DOWN|y|root(0)\n",
)


@pytest.mark.parametrize("rows_in_order", [(OWN_EVENT, FAR_EVENT, ODD_EVENT), (ODD_EVENT, FAR_EVENT, OWN_EVENT)])
@pytest.mark.parametrize(
    ("folder", "settings", "reasons"),
    [("c1", "", ["x"]), ("gpus", 'slurm_cluster = "far"', ["y"]), ("gpus", "", None)],
)
def test_node_events_of_several_clusters(rows_in_order, folder, settings, reasons, tmp_path: Path):
    files = {f"{folder}/events/a.psv": EVENTS + "".join(rows_in_order)}
    make(tmp_path, {**files, f"{folder}/cluster.toml": settings + "\n[quarantine]\nmax_share = 1"})
    con = load(tmp_path, readers={"events": READERS["events"]})
    (file,) = rows(con, "select * from ops.files")
    if reasons is None:
        assert (file["status"], file["reason"].split(":")[0]) == ("refused", "several_clusters")
        return
    others = 2 if folder == "c1" else 1
    assert [row["reason"] for row in rows(con, "select reason from raw.node_events")] == reasons
    assert (file["lines_in"], file["loaded"], file["skipped"], file["warnings"]) == (4, 1, 1 + others, [])
    assert skips(con)["other_cluster"] == others
