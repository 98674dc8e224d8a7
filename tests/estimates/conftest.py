"""The five clusters: fitted once to read, and a copy of their own for tests that change them."""

import shutil
from functools import partial

import pytest

from assets.warehouse import OpenWarehouse, Warehouse
from tests.estimates.five_clusters import ASSETS, build, read
from tests.homes import change


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """The five clusters with all their estimates; read it, never change it."""
    house = OpenWarehouse(path=str(tmp_path_factory.mktemp("estimates") / "faultline.duckdb"))
    build(house)
    for asset in ASSETS:
        asset(warehouse=house)
    house.close()
    return Warehouse(path=house.path)


@pytest.fixture
def rows(fitted):
    """Read rows of an estimate of the five clusters."""
    return lambda table, **key: read(fitted, table, **key)


@pytest.fixture
def warehouse(fitted, tmp_path):
    """A copy to change. It stays open, as in a refresh, because opening it takes longer than most queries."""
    house = OpenWarehouse(path=shutil.copy(fitted.path, tmp_path))
    yield house
    house.close()


@pytest.fixture
def redo(warehouse):
    """Change the copy and estimate again; return a function that reads its rows."""

    def redo(asset, *statements):
        change(warehouse, *statements)
        asset(warehouse=warehouse)
        return partial(read, warehouse)

    return redo
