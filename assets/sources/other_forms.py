"""Forms of logs that are translated into lines of their kind's own form before they are read.

Every module of the package `translations` declares the forms that it translates as `FORMS`. The modules are found in
their folder, so a new form needs only a new module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from assets.sources.reader import SourceFile
from assets.sources.settings import ClusterSettings

PACKAGE = "assets.sources.translations"


@dataclass(frozen=True)
class SetAside:
    """A record that cannot become a line of the kind's form: skipped if it has no detail, else quarantined."""

    text: str
    reason: str
    detail: str | None = None
    has_lost_end: bool = False
    """Whether the JSON document ends here, incomplete: the records that should follow are missing."""


@dataclass(frozen=True)
class Translation:
    """One form: how its files are recognised and translated into lines."""

    name: str
    """The dialect of its files in `ops.files`."""
    kind: str
    """The folder of its files."""
    recognises: Callable[[str, ClusterSettings], bool]
    """Returns whether a text from the beginning of a file is of this form."""
    translate: Callable[[Iterator[str], SourceFile, ClusterSettings], Iterator[str | SetAside]]
    """Turns the text of a file, given in pieces, into lines for the kind's reader.

    Each record becomes one line, or is set aside. These lines are counted and numbered instead of the file's own. A
    file that cannot be translated at all raises `SourceError`."""
    example: str
    """A short file of this form."""
    has_times: bool = True
    """Whether records state their time; else the time of their file counts."""
    rank: int = 0
    """Forms of a lower rank are tried first. A pattern that also fits texts of other forms needs a higher rank."""


@cache
def translations_of(kind: str) -> Mapping[str, Translation]:
    """Return the forms of a kind by name, in the order in which they are tried."""
    return {form.name: form for form in _forms() if form.kind == kind}


def translation_of(kind: str, dialect: str) -> Translation | None:
    """Return the form of a dialect; None if its files need no translation."""
    return translations_of(kind).get(dialect)


def recognised(kind: str, sample: str, cluster: ClusterSettings) -> str | None:
    """Return the name of the form of a text from the beginning of a file; None if it is not a translated form."""
    return next((name for name, form in translations_of(kind).items() if form.recognises(sample, cluster)), None)


def holds(*patterns: re.Pattern[str], in_json: bool | None = None) -> Callable[[str, ClusterSettings], bool]:
    """Return a function that recognises texts with all patterns: only JSON, only other texts, or both."""

    def recognises(sample: str, _cluster: ClusterSettings) -> bool:
        return in_json in (None, begins_json(sample)) and all(pattern.search(sample) for pattern in patterns)

    return recognises


def begins_json(sample: str) -> bool:
    """Return whether a text begins with an object or an array."""
    return sample.lstrip().startswith(("{", "["))


def _forms() -> tuple[Translation, ...]:
    modules = [import_module(f"{PACKAGE}.{found.name}") for found in iter_modules(import_module(PACKAGE).__path__)]
    forms = [form for module in modules for form in getattr(module, "FORMS", ())]
    return tuple(sorted(forms, key=lambda form: (form.rank, form.name)))
