"""The units that columns are described in are those that docs/naming.md lists."""

import importlib
import re
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "naming.md"


def test_every_unit_is_listed_and_every_listed_one_is_used():
    (listed,) = re.findall(r"The units are: (.+?)\.\n\* ", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert {*re.findall(r"`([^`]+)`", listed)} == units_of_models() | units_of_estimates()


def units_of_models() -> set[str]:
    texts = [
        path.read_text() for kind in ("yml", "md") for path in (PROJECT / "dbt_project" / "models").rglob(f"*.{kind}")
    ]
    return {unit for text in texts for unit in re.findall(r'Unit: ([^."]+)', " ".join(text.split()))}


def units_of_estimates() -> set[str]:
    modules = [path.stem for path in (PROJECT / "assets" / "estimates").glob("est_*.py")]
    tables = [importlib.import_module(f"assets.estimates.{name}").TABLE for name in modules]
    return {column.unit for table in tables for column in table.columns if column.unit}
