"""Mutated lines of every dialect.

`python -m tests.sources.fuzzing FOLDER SEED COUNT` loads a cluster with a file of COUNT lines per dialect, and
prints the outcome and the peak of memory as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import duckdb

from assets.sources.errors import SourceError
from assets.sources.formats import READERS
from assets.sources.other_forms import translations_of
from assets.sources.reader import SAMPLE_CHARACTERS
from assets.warehouse import create_raw_and_ops
from tests.logs import export, numbered
from tests.sources.batches import TESTBED, cluster_of
from tests.sources.bombs import MEMORY_MB, peak_mib
from tests.sources.cases import CASES, files_of
from tests.sources.folders import load_results, make

FORMS = Path(__file__).parents[1] / "fixtures" / "forms"
"""Files of translated forms that are longer than the examples. All but those of Slurm and GCM are hand-made."""
ODD = (
    "", "0", "-1", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "9" * 400, "1e400", "-1e-400",
    "nan", "inf", "infinity", "NULL", "null", "\u0000", "\ufeff", "\u00b2", "\u0663", "\u202e", "\U0001f4a5", "\ud7ff",
    "1970-01-01T00:00:00", "2038-01-19T03:14:08", "9999-12-31T23:59:59", "294247-01-10T04:00:54", "0001-01-01",
    "0000-00-00T00:00:00", "2024-02-30T25:61:61", "Feb 29 00:00:00", "[", "]", "{", "}", "[[[[", "[0-99999]", "[9-1]",
    "[1-2][1-2][1-2]", '"', "\'", "\\\\", "|", "||||", ",", ";", "\t", "\x1f", "%s", "=", " by ", "K", "\r",
)  # fmt: skip
DELIMITERS = ("|", ",", ";", "\t", "\x1f", " ", ":", "=", '"', "-", "T")


def dialects() -> dict[str, tuple[str, list[str]]]:
    """Return good lines by kind and dialect."""
    found: dict[str, tuple[str, list[str]]] = {}
    texts = [(kind, text) for kind, cases in CASES.items() for case in cases for text in files_of(case).values()]
    texts += [(kind, form.example) for kind in READERS for form in translations_of(kind).values()]
    files = [*sorted(TESTBED.glob("*/*")), *sorted(FORMS.glob("*/*"))]
    texts += [(path.parent.name, path.read_text("utf-8", "replace")) for path in files]
    for delimiter in ("|", "\x1f", ";", "\t", ","):
        texts.append(("sacct", export(numbered(range(20)), delimiter)))
    cluster = cluster_of()
    for kind, text in texts:
        try:
            dialect = READERS[kind].detect(text[:SAMPLE_CHARACTERS], f"c/{kind}/x", cluster)
        except SourceError:
            continue
        _, lines = found.setdefault(f"{kind}-{dialect}", (kind, []))
        lines += text.splitlines()[:200]
    return found


def mutated(lines: list[str], count: int, rng: Random) -> Iterator[str]:
    """Yield good lines, most with one or two changes. The first stays, because it may be the header."""
    yield lines[0]
    for _ in range(count - 1):
        line = rng.choice(lines)
        for _ in range(rng.choice((0, 1, 1, 1, 2, 5))):
            line = mutate(line, rng.choice(lines), rng)
        yield line.replace("\n", " ")


def mutate(line: str, other: str, rng: Random) -> str:
    """Change a line in one place, with pieces of another line or with odd text."""
    at, to = sorted((rng.randrange(len(line) + 1), rng.randrange(len(line) + 1)))
    delimiter = rng.choice(DELIMITERS)
    fields = line.split(delimiter)
    place = rng.randrange(len(fields))
    match rng.randrange(9):
        case 0:
            return line[:at]
        case 1:
            return line[:at] + line[to:]
        case 2:
            return line[:to] + line[at:]
        case 3:
            return line[:at] + other[rng.randrange(len(other) + 1) :]
        case 4:
            return line[:at] + rng.choice(ODD) + line[at:]
        case 5:
            return delimiter.join([*fields[:place], rng.choice(ODD), *fields[place + 1 :]])
        case 6:
            rng.shuffle(fields)
            return delimiter.join(fields)
        case 7:
            flipped = line[at : at + 1]
            return line[:at] + (chr((ord(flipped) ^ 1 << rng.randrange(7)) or 1) if flipped else "") + line[at + 1 :]
        case _:
            return "".join(str(rng.randrange(10)) if letter.isdecimal() else letter for letter in line)


def outcome(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """Load mutated lines of all dialects, and check that every line is accounted for."""
    forms = dialects()
    files: dict[str, str | bytes] = {f"c{seed}/sacct/good.txt": export([{}])}
    for name, (kind, lines) in forms.items():
        text = "".join(f"{line}\n" for line in mutated(lines, count, Random(f"{seed}-{name}")))
        files[f"c{seed}/{kind}/{name}.log"] = text.encode("utf-8", "surrogatepass")
    make(folder / "sources", files)
    settings = {"threads": 2, "memory_limit": f"{MEMORY_MB}MB", "temp_directory": str(folder / "spilled")}
    con = duckdb.connect(str(folder / "warehouse.duckdb"), config=settings)
    con.execute("set timezone = 'UTC'")
    create_raw_and_ops(con)
    results = load_results(folder / "sources", con, READERS)
    # The lines of a translated document are its records, and damage joins some records.
    translated = [dialect for kind in READERS for dialect in translations_of(kind)]
    read = con.execute(
        """
        select count(*), min(lines_in) filter (not list_contains($translated, dialect))
        from ops.files where status in ('read', 'blind') and path like '%.log'
        """,
        {"translated": translated},
    )
    file_count, fewest = read.fetchall()[0]
    return {
        "forms": len(forms),
        "files": file_count,
        "fewest_lines": fewest,
        "failed": [warning for result in results.values() for warning in result.warnings if "failed" in warning],
        "peak": peak_mib(),
    }


if __name__ == "__main__":
    print(json.dumps(outcome(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
