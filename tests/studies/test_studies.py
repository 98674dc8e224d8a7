"""Published figures come out again from the data of their studies, and those that do not are known and explained."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tests.studies import DATA, FOLDER, DataMissingError, Study, data_file
from tests.studies.__main__ import STUDIES, main
from tests.studies.page import section
from tests.studies.titan import concordance

PAGE = Path(__file__).parents[2] / "docs" / "studies.md"


@cache
def study(name: str) -> Study:
    try:
        return import_module(f"tests.studies.{name}").study()
    except DataMissingError as error:
        pytest.skip(str(error))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"statsmodels", "patsy"}:
            raise
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_every_figure_comes_out_or_is_known_not_to(name):
    figures = study(name).figures
    assert figures
    for figure in figures:
        assert figure.agrees == figure.follows, figure
        assert bool(figure.note) != figure.follows, figure


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_the_page_has_the_study_as_it_comes_out_now(name):
    assert section(study(name)) in PAGE.read_text(encoding="utf-8")


def test_each_study_without_data_names_its_file_and_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(FOLDER, str(tmp_path / "all data"))
    monkeypatch.setattr("sys.argv", ["tests.studies", "--write", str(tmp_path / "page.md")])
    data = tmp_path / "all data" / "titan" / DATA["titan"][0]
    data.parent.mkdir(parents=True)
    data.touch()
    assert main() == 1
    assert not (tmp_path / "page.md").exists()
    said = capsys.readouterr().err
    for study in ("lanl", "alpine"):
        name, source = DATA[study]
        assert f"{tmp_path}/all data/{study}/{name} does not exist" in said
        assert f"curl -fL -o '{tmp_path}/all data/{study}/{name.removesuffix('.xz')}" in said
        assert f"' {source}" in said
    assert data_file("titan") == data


def test_concordance_of_a_small_example():
    # Pairs to compare: (1, 2), (1, 3), (1, 4), (2, 3), (2, 4). All but (2, 3) are right; (1, 4) is a tie of risk.
    risk, years = np.array([2.0, 1.0, 1.5, 2.0]), np.array([1.0, 2.0, 3.0, 4.0])
    assert concordance(risk, years, np.array([True, True, False, False])) == pytest.approx((2 + 0.5) / 5)
