"""A refresh as OpenLineage events: valid by the official client, complete, delivered where they should be, or said."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args, get_type_hints
from uuid import UUID

import attr
import duckdb
import pytest
from openlineage.client import event_v2, facet_v2
from openlineage.client.generated import base
from openlineage.client.serde import Serde

from orchestration.open_lineage.events import FACETS, Namespaces, event_of_failure, events_of_publication
from orchestration.open_lineage.sending import send_failure, send_publication
from orchestration.settings.environment import LineageSettings, WrongSetting, read_settings
from tests.conftest import refresh
from tests.homes import ask, copy_of
from tests.orchestration.alerts.receivers import web_server
from tests.patience import PATIENCE_SECONDS

NAMES = Namespaces("faultline://host/home", "file://host/home/sources")
CLASSES = {key: getattr(facet_v2, module) for key, module in {
    "columnLineage": "column_lineage_dataset", "dataQualityAssertions": "data_quality_assertions_dataset",
    "datasetVersion": "dataset_version_dataset", "documentation": "documentation_dataset",
    "errorMessage": "error_message_run", "jobType": "job_type_job", "parent": "parent_run",
    "outputStatistics": "output_statistics_output_dataset", "processing_engine": "processing_engine_run",
    "schema": "schema_dataset",
}.items()}  # fmt: skip


@pytest.fixture(scope="module")
def run_id(built_warehouse):
    with duckdb.connect(str(built_warehouse), read_only=True) as con:
        return con.execute("select run_id from ops.published").fetchone()[0]


@pytest.fixture(scope="module")
def events(built_warehouse, run_id):
    with duckdb.connect(str(built_warehouse), read_only=True) as con:
        return list(events_of_publication(con, run_id, NAMES))


def modelled(kind, value):
    """Make an object of the client's models; what they do not know, or need and is not there, is an error."""
    if isinstance(value, list):
        return [modelled(kind, item) for item in value]
    if not attr.has(kind):
        return value
    known = {field.alias.lstrip("_"): field for field in attr.fields(kind)}
    kinds = get_type_hints(kind, vars(base) | vars(__import__(kind.__module__, fromlist=["*"])))
    parts = {}
    for name, part in value.items():
        if name in {"_producer", "_schemaURL", "schemaURL"}:
            continue
        if name in {"facets", "inputFacets", "outputFacets"}:
            parts[name] = {key: modelled(facet_class(key), given) for key, given in part.items()}
        elif name == "fields" and isinstance(part, dict):
            inner = CLASSES["columnLineage"].Fields
            parts[name] = {column: modelled(inner, given) for column, given in part.items()}
        else:
            parts[known[name].alias] = modelled(class_of(kinds[known[name].name]), part)
    if kind is base.RunEvent:
        parts["eventType"] = event_v2.RunState[parts["eventType"]]
    return kind(**parts)


def class_of(hint):
    inner = [found for argument in get_args(hint) if (found := class_of(argument)) is not None]
    return hint if attr.has(hint) else inner[0] if inner else None


def facet_class(key):
    return getattr(CLASSES[key], FACETS[key].partition("/")[2])


def plain(value):
    """Leave out what the client leaves out: nothing, and empty."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items() if part not in (None, {}, [])}
    return [plain(part) for part in value] if isinstance(value, list) else value


def without_schemas(value):
    if isinstance(value, dict):
        return {key: without_schemas(part) for key, part in value.items() if key not in {"_producer", "producer"}}
    return [without_schemas(part) for part in value] if isinstance(value, list) else value


def test_every_event_is_one_of_the_official_client(events):
    # Given to the client's own classes and written by it, an event is what it was, with the same schemas' addresses.
    for event in events:
        written = Serde.to_dict(modelled(base.RunEvent, event))
        assert without_schemas(plain(written)) == without_schemas(plain(event))


def test_a_failure_is_one_too_and_says_why(run_id):
    event = event_of_failure(run_id, "no logs", "1.0", NAMES)
    assert without_schemas(plain(Serde.to_dict(modelled(base.RunEvent, event)))) == without_schemas(plain(event))
    assert (event["eventType"], event["run"]["facets"]["errorMessage"]["message"]) == ("FAIL", "no logs")


def test_a_refresh_begins_and_ends_once_and_is_the_parent_of_all_else(events, run_id):
    states = [(event["job"]["name"], event["eventType"]) for event in events if event["run"]["runId"] == run_id]
    assert states == [("refresh", "START"), ("refresh", "COMPLETE")]
    others = [event for event in events if event["run"]["runId"] != run_id]
    assert {event["run"]["facets"]["parent"]["run"]["runId"] for event in others} == {run_id}
    assert len({UUID(event["run"]["runId"]) for event in others}) == len(others)


def test_the_events_hold_the_whole_lineage(events, built_warehouse):
    found = {
        (output["name"], column, origin["name"], origin["field"])
        for event in events
        for output in event["outputs"]
        for column, origins in output["facets"].get("columnLineage", {"fields": {}})["fields"].items()
        for origin in origins["inputFields"]
    }
    with duckdb.connect(str(built_warehouse), read_only=True) as con:
        assert found == set(con.execute("select * from ops.lineage").fetchall()) != set()


def test_tables_have_their_columns_rows_and_checks(events, built_warehouse):
    outputs = {output["name"]: output for event in events for output in event["outputs"] if output["facets"]}
    fields = {field["name"]: field for field in outputs["marts.fct_failures"]["facets"]["schema"]["fields"]}
    assert "description" in fields["failed_at"] and fields["failed_at"]["type"] == "TIMESTAMP"
    with duckdb.connect(str(built_warehouse), read_only=True) as con:
        rows = con.execute("select count(*) from marts.fct_failures").fetchone()[0]
        checks = con.execute("select table_name, check_name, passed from ops.checks order by all").fetchall()
    assert outputs["marts.fct_failures"]["outputFacets"]["outputStatistics"]["rowCount"] == rows
    (checked,) = [event for event in events if event["job"]["name"] == "checks"]
    found = [
        (dataset["name"], assertion["assertion"], assertion["success"])
        for dataset in checked["inputs"]
        for assertion in dataset["inputFacets"]["dataQualityAssertions"]["assertions"]
    ]
    assert sorted(found) == checks != []


def test_raw_tables_come_from_folders_of_logs(events):
    (sacct,) = [event for event in events if event["job"]["name"] == "raw.sacct"]
    assert [(folder["namespace"], folder["name"]) for folder in sacct["inputs"]] == [(NAMES.sources, "testbed/sacct")]


@pytest.fixture
def settings(testbed_home):
    def with_lineage(lineage):
        return replace(read_settings(testbed_home.root), lineage=lineage)

    return with_lineage


def test_nothing_goes_anywhere_unless_it_is_set(settings, run_id):
    said = []
    send_publication(settings(LineageSettings()), run_id, said.append)
    send_failure(settings(LineageSettings()), run_id, "no logs", said.append)
    assert said == []


def test_events_are_posted_with_the_key(settings, run_id, events, tmp_path):
    key, said = tmp_path / "key", []
    key.write_text("hunter2\n")
    with web_server() as web:
        send_publication(settings(LineageSettings(web.address, key)), run_id, said.append)
        assert said == []
        assert [json.loads(body)["job"]["name"] for body in web.bodies] == [event["job"]["name"] for event in events]
        assert set(web.keys) == {"Bearer hunter2"}


def test_a_file_holds_the_last_run(settings, run_id, events, tmp_path):
    file, said = tmp_path / "lineage" / "events.ndjson", []
    file.parent.mkdir()
    for _ in range(2):
        send_publication(settings(LineageSettings(file=file)), run_id, said.append)
    assert said == []
    assert len(file.read_text().splitlines()) == len(events)
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("status", [302, 500])
def test_what_is_not_delivered_is_said_without_the_address(settings, run_id, status):
    said = []
    with web_server() as web:
        web.status = status
        send_publication(settings(LineageSettings(web.address)), run_id, said.append)
        send_failure(settings(LineageSettings(web.address)), run_id, "no logs", said.append)
    assert said == [f"the lineage was not delivered: 127.0.0.1 answered {status}"] * 2


def test_no_receiver_holds_a_refresh_up(settings, run_id, events, monkeypatch):
    said = []
    with web_server() as web:
        monkeypatch.setattr("orchestration.terminal.posting.SECONDS", 0.2)
        web.wait.clear()
        send_publication(settings(LineageSettings(web.address)), run_id, said.append)
        web.wait.set()
        monkeypatch.setattr("orchestration.terminal.posting.SECONDS", PATIENCE_SECONDS)
        monkeypatch.setattr("orchestration.open_lineage.sending.MAX_SECONDS", 0)
        send_publication(settings(LineageSettings(web.address)), run_id, said.append)
        assert len(web.bodies) < len(events)
    assert said == [
        "the lineage was not delivered: 127.0.0.1: no answer in time",
        "the lineage was not delivered: not all of it within 0 s",
    ]


def test_what_nobody_foresaw_is_a_line_as_well(settings, run_id, tmp_path, monkeypatch):
    said, file = [], LineageSettings(file=tmp_path / "events.ndjson")
    monkeypatch.setattr("orchestration.open_lineage.sending.json.dumps", {}.__getitem__)
    send_publication(settings(file), run_id, said.append)
    send_failure(settings(file), run_id, "no logs", said.append)
    assert said == ["the lineage was not delivered: unexpected TypeError"] * 2


def test_a_refresh_sends_the_events_of_its_run(testbed_home, lineage_file, run_id):
    (first, *_, last) = map(json.loads, lineage_file.read_text().splitlines())
    assert [(event["run"]["runId"], event["eventType"]) for event in (first, last)] == [
        (run_id, "START"),
        (run_id, "COMPLETE"),
    ]


def test_a_refresh_that_cannot_send_them_is_published(testbed_home, run_id, tmp_path, monkeypatch, capfd):
    home = copy_of(testbed_home, tmp_path)
    monkeypatch.setenv("FAULTLINE_OPENLINEAGE", "http://127.0.0.1:1/lineage")
    refresh(home, is_from_marts=True)
    (line,) = [line for line in capfd.readouterr().err.splitlines() if "lineage" in line]
    assert line.startswith("the lineage was not delivered: 127.0.0.1: ")
    assert ask(home, "select count(*) from ops.published where run_id <> $1", [run_id]) == [(1,)]


def test_a_folder_that_is_not_there_is_said(settings, run_id, tmp_path):
    said = []
    send_publication(settings(LineageSettings(file=tmp_path / "none" / "events")), run_id, said.append)
    assert len(said) == 1 and said[0].startswith("the lineage was not delivered: ")


def test_the_setting_is_a_file_or_an_address(monkeypatch, tmp_path):
    def read(value):
        monkeypatch.setenv("FAULTLINE_OPENLINEAGE", value)
        return read_settings(tmp_path).lineage

    assert read("https://lineage.example/api/v1/lineage").address == "https://lineage.example/api/v1/lineage"
    assert read("events.ndjson").file.is_absolute()
    assert not read(" ").is_set
    with pytest.raises(WrongSetting, match="FAULTLINE_OPENLINEAGE"):
        read("ftp://lineage.example")
