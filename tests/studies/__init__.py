"""Published studies worked out again from their own data: `make studies` writes docs/studies.md.

Every module here that has a `study` is one study. LANL's and InfiniteHBD's records go through the product, as
`failures/` of a cluster; Titan's lifetimes and Alpine's disks are read by the study alone.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.proof.published import Figure

FOLDER = "FAULTLINE_STUDIES_DATA"
"""Setting that names the folder with the data of all studies, a folder each."""
NEXT_TO_CHECKOUT = Path(__file__).resolve().parents[3] / "shared" / "samples" / "public"
"""Where the data are looked for without it: in a folder `shared` next to the checkout."""


GITHUB = "https://raw.githubusercontent.com"
DATA = {
    "lanl": (
        "LA-UR-05-7318-failure-data-1996-2005.csv.xz",
        f"{GITHUB}/Derek-Jones/ESEUR-code-data/HEAD/reliability/LA-UR-05-7318-failure-data-1996-2005.csv.xz",
    ),
    "titan": ("gc_summary_loc.csv.xz", f"{GITHUB}/olcf/TitanGPULife/HEAD/data/gc_summary_loc.csv"),
    "alpine": (
        "alpine_formatted_data.csv.xz",
        f"{GITHUB}/Ann-Geo/Disk-failures-in-HPC-2024/HEAD/alpine_formatted_data.csv",
    ),
}
"""The file that a study reads in its folder, and where it is from. The data of InfiniteHBD are part of this project."""


class DataMissingError(Exception):
    """The data of a study are missing."""


@dataclass(frozen=True)
class Study:
    """What a study published, and ours from the same data.

    Attributes
    ----------
    title, about
        Heading, and a paragraph: what the data are, where they are from, what may be done with them.
    figures
        Published figures, as printed, with ours.
    further
        What else the data say: a heading, the header of a table, its rows.
    """

    title: str
    about: str
    figures: Sequence[Figure]
    further: Sequence[tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]] = ()


def data_file(study: str) -> Path:
    """Return the file of a study's data.

    Raises
    ------
    DataMissingError
        It does not exist. The message names the file and the command that fetches it.
    """
    name, source = DATA[study]
    path = Path(os.environ.get(FOLDER) or NEXT_TO_CHECKOUT) / study / name
    if not path.is_file():
        loaded = path if source.endswith(path.suffix) else path.with_suffix("")
        folder, file = (shlex.quote(str(place)) for place in (path.parent, loaded))
        fetched = f"curl -fL -o {file} {source}" + (f" && xz {file}" if loaded != path else "")
        raise DataMissingError(
            f"{study}: {path} does not exist; fetch it with\n  mkdir -p {folder} && {fetched}\n"
            f"  or set {FOLDER} to the folder that holds {study}/{name}"
        )
    return path


def missing_data() -> Iterator[str]:
    """Say of each study without its data which file it lacks, and how to fetch it."""
    for study in DATA:
        try:
            data_file(study)
        except DataMissingError as error:
            yield str(error)
