"""The description of an export in Croissant 1.1: its files, tables and columns, and the refresh that made them.

The format: https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html. It requires a license, a creator and an
address, which Faultline does not know: without a license, SPDX's "no assertion" is used; the others are left out. It
has no property for a unit; schema.org's `unitText` is used, and the description ends with the unit as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from orchestration.read_commands.catalogue import ColumnListing, keys_of_marts
from orchestration.read_commands.exported import ExportedTable, Publication, Relation
from orchestration.read_commands.public_export import WHY

Json = dict[str, Any]
NAME = "Faultline: reliability of GPU clusters"
DESCRIPTION = (
    "Jobs, failures, nodes and estimates of reliability of GPU clusters that run Slurm, computed from their logs by"
    " Faultline. All times are UTC."
)
ENCODING_FORMATS = {"parquet": "application/x-parquet", "csv": "text/csv"}
_TERMS = (
    *("annotation", "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "excludes", "extract"),
    *("field", "fileObject", "fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath"),
    *("key", "md5", "parentField", "path", "readLines", "recordSet", "references", "regex", "repeated", "replace"),
    *("samplingRate", "sdVersion", "separator", "source", "subField", "transform", "unArchive"),
)
CONTEXT: Json = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "prov": "http://www.w3.org/ns/prov#",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS},
}
"""The context that the specification recommends, and the PROV ontology."""
_DATA_TYPES = {
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint", "hugeint"), "sc:Integer"),
    **dict.fromkeys(("float", "double"), "sc:Float"),
    **dict.fromkeys(("varchar", "json"), "sc:Text"),
    "boolean": "sc:Boolean",
    "date": "sc:Date",
}
_VERSION = re.compile(r"(\d+\.\d+\.\d+)\.?(\w*)((?:\+[\w.]+)?)")


@dataclass(frozen=True)
class Owner:
    """What only the owner of the data knows; None is left out."""

    license: str = "http://spdx.org/rdf/terms#noassertion"
    creator: str | None = None
    url: str | None = None


NOT_STATED = Owner()


def data_type(kind: str) -> str | None:
    """Return Croissant's type of a column with one value per row; None for lists, maps and the like.

    >>> data_type("timestamp_s"), data_type("bigint[]")
    ('sc:DateTime', None)
    """
    if kind.startswith("timestamp"):
        return "sc:DateTime"
    return "sc:Float" if kind.startswith("decimal") and not kind.endswith("]") else _DATA_TYPES.get(kind)


def describe(
    exported: Iterable[tuple[Relation, ExportedTable]], publication: Publication, owner: Owner, file_format: str
) -> Json:
    """Return the description of the written tables, in their order."""
    written = list(exported)
    keys = keys_of_marts()
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": NAME,
        **_dataset(publication, owner, is_public=any(relation.left_out for relation, _ in written)),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": table.file,
                "name": table.file.rpartition("/")[2],
                "contentUrl": table.file,
                "contentSize": f"{table.size_bytes} B",
                "encodingFormat": ENCODING_FORMATS[file_format],
                "sha256": table.sha256,
            }
            for _, table in written
        ],
        "recordSet": [
            _record_set(relation, table.file, keys.get(relation.table.name, ()), file_format)
            for relation, table in written
        ],
    }


def _dataset(publication: Publication, owner: Owner, *, is_public: bool) -> Json:
    """Return the properties of the data set: publication, simulated clusters, hidden cells, and the owner's."""
    simulated = ", ".join(publication.simulated_clusters)
    notes = [f"Simulated, not measured: {simulated}."] if simulated else []
    hidden = [f"NULL are cells of {WHY}."] if is_public else []
    known: Json = {
        "description": " ".join([DESCRIPTION, *notes, *hidden]),
        "keywords": ["Slurm", "GPU", "reliability", "failures", *(["simulated data"] if simulated else [])],
        "version": _semantic(publication.code_version or ""),
        "datePublished": publication.published_at,
        "license": owner.license,
        "creator": owner.creator and {"@type": "sc:Organization", "name": owner.creator},
        "url": owner.url,
    }
    if publication.run_id is not None:
        known["citeAs"] = (
            f"{f'{owner.creator}. ' if owner.creator else ''}{NAME}. Published by run {publication.run_id} at"
            f" {publication.published_at}, Faultline {publication.code_version}."
        )
        known["prov:wasGeneratedBy"] = {
            "@type": "prov:Activity",
            "prov:label": "faultline refresh",
            "prov:endedAtTime": publication.published_at,
            "identifier": publication.run_id,
            "prov:wasAssociatedWith": {
                "@type": "prov:SoftwareAgent",
                "prov:label": f"Faultline {publication.code_version}",
            },
        }
    return {name: value for name, value in known.items() if value is not None}


def _semantic(version: str) -> str | None:
    """Convert a Python version to Semantic Versioning; None if it does not have three numbers.

    >>> _semantic("0.2.0.dev0+8d53"), _semantic("0.2.0+8d53")
    ('0.2.0-dev0+8d53', '0.2.0+8d53')
    """
    found = _VERSION.fullmatch(version)
    return f"{found[1]}{f'-{found[2]}' if found[2] else ''}{found[3]}" if found else None


def _record_set(relation: Relation, file: str, key: Sequence[str], file_format: str) -> Json:
    table = relation.table
    fields = list(_fields(relation, file, file_format))
    described = {field["name"] for field in fields}
    left_out = [column.name for column in relation.columns if column.name not in described]
    grain = [f"One row per {table.grain}."] if table.grain else []
    absent = [f"In the file, but of no type that Croissant has: {', '.join(left_out)}."] if left_out else []
    record_set: Json = {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": " ".join([table.description, *grain, *absent]).strip(),
        "field": fields,
    }
    if key and described.issuperset(key):
        record_set["key"] = [{"@id": f"{table.name}/{column}"} for column in key]
    return record_set


def _fields(relation: Relation, file: str, file_format: str) -> Iterator[Json]:
    """Yield the columns that Croissant has a type for; in CSV all others are JSON, which is text."""
    for column in relation.columns:
        is_list = column.type.endswith("[]") and file_format == "parquet"
        kind = data_type(column.type.removesuffix("[]") if is_list else column.type)
        if kind is None and file_format == "csv":
            kind = "sc:Text"
        if kind is not None:
            yield {
                "@type": "cr:Field",
                "@id": f"{relation.table.name}/{column.name}",
                "name": column.name,
                "description": meaning(column),
                "dataType": kind,
                **({"isArray": True, "arrayShape": "-1"} if is_list else {}),
                **({"unitText": column.unit} if column.unit not in ("", "none") else {}),
                "source": {"fileObject": {"@id": file}, "extract": {"column": column.name}},
            }


def meaning(column: ColumnListing) -> str:
    """Return a column's description with its unit."""
    return f"{column.description} Unit: {column.unit}." if column.unit else column.description
