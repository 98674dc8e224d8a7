"""A refresh as OpenLineage events: valid by the official client, complete, and delivered, or a line says why not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args, get_type_hints

import attr
import duckdb
import pytest
from openlineage.client import event_v2, facet_v2
from openlineage.client.generated import base
from openlineage.client.serde import Serde

from orchestration.open_lineage.events import FACETS, Namespaces, event_of_failure, events_of_publication
from orchestration.open_lineage.sending import send_failure, send_publication
from orchestration.settings.environment import LineageSettings, WrongSetting, read_settings
from tests.homes import ask
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
    return ask(built_warehouse, "select run_id from ops.published")[0][0]


@pytest.fixture(scope="module")
def events(built_warehouse, run_id):
    with duckdb.connect(str(built_warehouse), read_only=True) as con:
        return list(events_of_publication(con, run_id, NAMES))


def modelled(kind, value):
    """Return an object of the client's models; unknown and missing fields are errors."""
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
    """Leave out the producer, None and empty values, as the client does."""
    if isinstance(value, dict):
        kept = {key: plain(part) for key, part in value.items() if key not in {"_producer", "producer"}}
        return {key: part for key, part in kept.items() if part not in (None, {}, [])}
    return [plain(part) for part in value] if isinstance(value, list) else value


def test_every_event_and_one_of_a_failure_is_one_of_the_official_client(events, run_id):
    """Parsed and written by the client's own classes, an event stays the same, with the same schemas."""
    failure = event_of_failure(run_id, "no logs", "1.0", NAMES)
    assert (failure["eventType"], failure["run"]["facets"]["errorMessage"]["message"]) == ("FAIL", "no logs")
    for event in [*events, failure]:
        assert plain(Serde.to_dict(modelled(base.RunEvent, event))) == plain(event)


def test_the_events_hold_the_whole_lineage(events, built_warehouse):
    found = {
        (output["name"], column, origin["name"], origin["field"])
        for event in events
        for output in event["outputs"]
        for column, origins in output["facets"].get("columnLineage", {"fields": {}})["fields"].items()
        for origin in origins["inputFields"]
    }
    assert found == set(ask(built_warehouse, "select * from ops.lineage")) != set()


def test_tables_have_their_columns_rows_checks_and_folders_of_logs(events, built_warehouse):
    outputs = {output["name"]: output for event in events for output in event["outputs"] if output["facets"]}
    fields = {field["name"]: field for field in outputs["marts.fct_failures"]["facets"]["schema"]["fields"]}
    assert "description" in fields["failed_at"] and fields["failed_at"]["type"] == "TIMESTAMP"
    ((rows,),) = ask(built_warehouse, "select count(*) from marts.fct_failures")
    checks = ask(built_warehouse, "select table_name, check_name, passed from ops.checks order by all")
    assert outputs["marts.fct_failures"]["outputFacets"]["outputStatistics"]["rowCount"] == rows
    (checked,) = [event for event in events if event["job"]["name"] == "checks"]
    found = [
        (dataset["name"], assertion["assertion"], assertion["success"])
        for dataset in checked["inputs"]
        for assertion in dataset["inputFacets"]["dataQualityAssertions"]["assertions"]
    ]
    assert sorted(found) == checks != []
    (sacct,) = [event for event in events if event["job"]["name"] == "raw.sacct"]
    assert [(folder["namespace"], folder["name"]) for folder in sacct["inputs"]] == [(NAMES.sources, "testbed/sacct")]


@pytest.fixture
def send(testbed_home, run_id):
    """Send a publication or a failure according to a setting, and return the printed lines."""

    def send(failure="", **lineage):
        said = []
        settings = replace(read_settings(testbed_home.root), lineage=LineageSettings(**lineage))
        if failure:
            send_failure(settings, run_id, failure, said.append)
        else:
            send_publication(settings, run_id, said.append)
        return said

    return send


def test_events_are_posted_with_the_key_or_written_over_the_last_run_or_go_nowhere(send, events, tmp_path):
    assert send() == send("no logs") == []
    key, file = tmp_path / "key", tmp_path / "lineage" / "events.ndjson"
    key.write_text("hunter2\n")
    with web_server() as web:
        assert send(address=web.address, key_file=key) == []
        assert [json.loads(body)["job"]["name"] for body in web.bodies] == [event["job"]["name"] for event in events]
        assert set(web.keys) == {"Bearer hunter2"}
    file.parent.mkdir()
    assert send(file=file) == send(file=file) == []
    assert len(file.read_text().splitlines()) == len(events)
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_what_is_not_delivered_is_a_line_without_the_address_and_holds_nothing_up(send, events, tmp_path, monkeypatch):
    with web_server() as web:
        for web.status in (302, 500):
            for failure in ("", "no logs"):
                (line,) = send(failure, address=web.address)
                assert line.endswith(f"127.0.0.1 answered {web.status}")
        web.status = 200
        monkeypatch.setattr("orchestration.terminal.posting.SECONDS", 0.2)
        web.wait.clear()
        (line,) = send(address=web.address)
        assert line.endswith("127.0.0.1: no answer in time")
        web.wait.set()
        monkeypatch.setattr("orchestration.terminal.posting.SECONDS", PATIENCE_SECONDS)
        monkeypatch.setattr("orchestration.open_lineage.sending.MAX_SECONDS", 0)
        web.bodies.clear()
        (line,) = send(address=web.address)
        assert line.endswith("not all of it within 0 s") and len(web.bodies) < len(events)
    (line,) = send(file=tmp_path / "none" / "events")
    assert line.startswith("the lineage was not delivered: ")
    monkeypatch.setattr("orchestration.open_lineage.sending.json.dumps", {}.__getitem__)
    for failure in ("", "no logs"):
        assert send(failure, file=tmp_path / "events") == ["the lineage was not delivered: unexpected TypeError"]


def test_a_refresh_sends_the_events_of_its_run(testbed_home, lineage_file, run_id):
    (first, *_, last) = map(json.loads, lineage_file.read_text().splitlines())
    assert [(event["run"]["runId"], event["eventType"]) for event in (first, last)] == [
        (run_id, "START"),
        (run_id, "COMPLETE"),
    ]


def test_the_setting_is_a_file_or_an_address(monkeypatch, tmp_path):
    def read(value):
        monkeypatch.setenv("FAULTLINE_OPENLINEAGE", value)
        return read_settings(tmp_path).lineage

    assert read("https://lineage.example/api/v1/lineage").address == "https://lineage.example/api/v1/lineage"
    assert read("events.ndjson").file.is_absolute()
    assert not read(" ").is_set
    with pytest.raises(WrongSetting, match="FAULTLINE_OPENLINEAGE"):
        read("ftp://lineage.example")
