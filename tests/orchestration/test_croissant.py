"""The Croissant record of an export, read by the reference implementation of the format."""

import json
import math
from collections import Counter
from datetime import UTC, date, datetime, time
from itertools import islice

import mlcroissant
import pandas as pd
import pytest

from assets.sql import identifier
from orchestration.read_commands.croissant import Owner
from orchestration.read_commands.export import export
from orchestration.read_commands.export_folder import CROISSANT
from orchestration.read_commands.public_export import WHY

SOME = 200


@pytest.fixture(scope="module")
def folder(testbed_home, tmp_path_factory):
    """Every table of the capture, exported; read it, never change it."""
    folder = tmp_path_factory.mktemp("export")
    export(testbed_home.published_file, folder)
    return folder


@pytest.fixture(scope="module")
def record(folder):
    return json.loads((folder / CROISSANT).read_text())


def plain(value):
    """Normalize a value of mlcroissant or DuckDB: texts decoded, times with their zone, lists as tuples."""
    match value:
        case bytes():
            return value.decode()
        case pd.Timestamp():
            return value.to_pydatetime()
        case datetime():
            return value.replace(tzinfo=UTC)
        case date():
            return datetime.combine(value, time.min)
        case float() if math.isnan(value):
            return None
        case list():
            return tuple(map(plain, value))
    return value


@pytest.mark.parametrize("most_rows", [SOME, pytest.param(None, marks=pytest.mark.slow)])
def test_the_record_is_valid_and_loads_every_table_with_the_values_of_the_database(folder, con, most_rows, caplog):
    dataset = mlcroissant.Dataset(jsonld=str(folder / CROISSANT))
    assert not dataset.metadata.ctx.issues.errors | dataset.metadata.ctx.issues.warnings
    assert not caplog.records
    kinds = set()
    for record_set in dataset.metadata.record_sets:
        names = [field.name for field in record_set.fields]
        shown = ", ".join(map(identifier, names))
        expected = con.execute(f"select {shown} from {record_set.id}")
        kinds.update(str(column[1]) for column in expected.description)
        rows = Counter(tuple(map(plain, row)) for row in expected.fetchall())
        loaded = [
            tuple(plain(found[f"{record_set.id}/{name}"]) for name in names)
            for found in islice(dataset.records(record_set.id), most_rows)
        ]
        assert len(loaded) == min(rows.total(), most_rows or rows.total()), record_set.id
        assert not Counter(loaded) - rows, record_set.id
    assert {"VARCHAR", "JSON", "BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "VARCHAR[]", "INTEGER[]"} <= kinds


def test_every_table_and_column_is_described_or_named_as_left_out(record, con):
    described = {record_set["@id"]: record_set for record_set in record["recordSet"]}
    for schema, table, columns in con.execute(
        "select schema_name, table_name, list(column_name order by column_index) from duckdb_columns()"
        " where schema_name in ('raw', 'marts', 'estimates', 'ops') group by all"
    ).fetchall():
        record_set = described.pop(f"{schema}.{table}")
        fields = [field["name"] for field in record_set["field"]]
        absent = [column for column in columns if column not in fields]
        assert [column for column in columns if column in fields] == fields
        assert all(column in record_set["description"] for column in absent)
        assert not absent or schema == "ops"
    assert not described


def test_the_record_says_which_refresh_made_it_and_nothing_that_nobody_knows(record, con):
    ((run_id, published_at, version),) = con.execute(
        "select run_id, strftime(published_at, '%Y-%m-%dT%H:%M:%S.%fZ'), code_version from ops.published"
    ).fetchall()
    activity = record["prov:wasGeneratedBy"]
    assert (activity["identifier"], activity["prov:endedAtTime"]) == (run_id, published_at)
    assert activity["prov:wasAssociatedWith"]["prov:label"] == f"Faultline {version}"
    assert record["conformsTo"] == "http://mlcommons.org/croissant/1.1"
    assert record["datePublished"] == published_at
    assert record["version"].endswith(version.partition("+")[2])
    assert record["license"].endswith("noassertion")
    assert not {"creator", "url", "isLiveDataset"} & record.keys()


OWNER = Owner("https://spdx.org/licenses/CC-BY-4.0", "Our site", "https://example.org/data")


@pytest.mark.parametrize(
    ("options", "name"), [({"file_format": "csv", "owner": OWNER}, "testbed"), ({"cluster_names": ["A"]}, "A")]
)
def test_csv_and_a_public_export_have_their_record_too(testbed_home, tmp_path, con, caplog, options, name):
    export(testbed_home.published_file, tmp_path, ["dim_clusters", "est_failure_rates"], **options)
    dataset = mlcroissant.Dataset(jsonld=str(tmp_path / CROISSANT))
    assert not dataset.metadata.ctx.issues.warnings
    assert not caplog.records
    if "owner" in options:
        stated = (dataset.metadata.license, dataset.metadata.creators[0].name, dataset.metadata.url)
        assert stated == ([OWNER.license], OWNER.creator, OWNER.url)
    else:
        assert WHY in dataset.metadata.description
    (cluster,) = dataset.records("marts.dim_clusters")
    assert plain(cluster["marts.dim_clusters/cluster_id"]) == name
    rates = [*dataset.records("estimates.est_failure_rates")]
    assert {plain(row["estimates.est_failure_rates/cluster_id"]) for row in rates} == {name}
    if "owner" in options:
        expected = con.execute("select node_days from estimates.est_failure_rates").fetchall()
        found = Counter(row["estimates.est_failure_rates/node_days"] for row in rates)
        assert found == Counter(value for (value,) in expected)
