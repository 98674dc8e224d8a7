"""Published figures come out again from the data of their studies, and those that do not are known and explained."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tests.proof.published import Figure
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


def test_what_does_not_agree_is_on_the_page_with_its_difference_and_its_reason():
    figures = [
        Figure("abstract", "failures", "23,000", 23_739.0, "-", follows=False, note="a round number"),
        Figure("worked out: the data", "mean, minutes", "<60", 59.0, "-"),
    ]
    assert section(Study("A study", "What it is.", figures)).splitlines()[4:] == [
        "| source | figure | stated | ours | agrees |",
        "| --- | --- | ---: | ---: | --- |",
        "| abstract | failures | 23,000 | 23,739 | no, by +739: a round number |",
        "| worked out: the data | mean, minutes | <60 | 59 | yes |",
    ]


def test_each_study_without_data_names_its_file_and_the_command(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "all data"
    monkeypatch.setenv(FOLDER, str(folder))
    monkeypatch.setattr("sys.argv", ["tests.studies", "--write", str(tmp_path / "page.md")])
    (folder / "titan").mkdir(parents=True)
    data = folder / "titan" / DATA["titan"][0]
    data.touch()
    assert main() == 1
    assert [*tmp_path.iterdir()] == [folder]
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines if not line.startswith(" ")] == ["lanl", "alpine"]
    for study, said in (("lanl", lines[0:3]), ("alpine", lines[3:6])):
        name, source = DATA[study]
        assert f"{folder}/{study}/{name} does not exist" in said[0]
        assert f"mkdir -p '{folder}/{study}' && curl -fL -o '{folder}/{study}/{name.removesuffix('.xz')}" in said[1]
        assert f"' {source}" in said[1]
        assert said[1].endswith(".csv'" if study == "alpine" else ".csv.xz")
        assert FOLDER in said[2]
    assert data_file("titan") == data


def test_concordance_of_a_small_example():
    # Pairs that can be told: (1, 2), (1, 3), (1, 4), (2, 3), (2, 4). All but (2, 3) are right; (1, 4) is a tie of risk.
    risk, years = np.array([2.0, 1.0, 1.5, 2.0]), np.array([1.0, 2.0, 3.0, 4.0])
    assert concordance(risk, years, np.array([True, True, False, False])) == pytest.approx((2 + 0.5) / 5)
