"""Published studies worked out again from their own data: `make studies` writes docs/studies.md.

Every module here that has a `study` is one study. LANL's and InfiniteHBD's records go through the product, as
`failures/` of a cluster; Titan's lifetimes and Alpine's disks are read by the study alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.proof.published import Figure

FOLDER = "FAULTLINE_STUDIES_DATA"
"""Setting that names the folder with the data of all studies, a folder each."""
BESIDE = Path(__file__).resolve().parents[3] / "shared" / "samples" / "public"
"""Where the data are looked for without it: in a folder `shared` beside the checkout."""


class DataMissingError(Exception):
    """The data of a study are not there."""


@dataclass(frozen=True)
class Study:
    """What a study published, and ours from the same data.

    Attributes
    ----------
    title, about
        Heading, and a paragraph: what the data are, where they are from, what may be done with them.
    figures
        Published figures, as printed, beside ours.
    besides
        What the data say besides: a heading, the header of a table, its rows.
    """

    title: str
    about: str
    figures: Sequence[Figure]
    besides: Sequence[tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]] = ()


def data_file(study: str, name: str) -> Path:
    """Give a file of a study's data.

    Raises
    ------
    DataMissingError
        It is not there.
    """
    path = Path(os.environ.get(FOLDER) or BESIDE) / study / name
    if not path.is_file():
        raise DataMissingError(
            f"{path} is not there: set {FOLDER} to the folder that holds {study}/{name}; docs/studies.md says where "
            "each study's data are from"
        )
    return path
