"""Translate records of log shippers into syslog lines: any JSON, lines with labels of Loki, journald's export.

Each has a message, a host and a time (`record_names`); nothing else of its form matters. If the message is a whole line
of a log, it gives what the record lacks. A record without message or time is quarantined. A file without a record that
has both is refused, with a command that gives the fields known names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import chain
from typing import Any

from assets.sources.errors import SourceError
from assets.sources.kernel.envelopes import PRIORITY, SHAPES
from assets.sources.other_forms import SetAside, Translation, holds
from assets.sources.reader import SourceFile
from assets.sources.settings import ClusterSettings
from assets.sources.text.text_lines import lines_of
from assets.sources.translations import record_names as names
from assets.sources.translations.json_documents import records_of, unsupported

MAX_DEPTH = 8
"""Most levels of nested objects that are read."""
_BEGINS_JSON = re.compile(r"\A\s*(?:\[\s*)?\{")
_LABELLED = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)) +\{([^{}]*)\} +(.*)")
_BEFORE_JSON = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d))[ \t][^{}]*(\{ *\".*\})\s*")
"""Matches records that fluentd writes to a file, and lines of containers that Kubernetes writes."""
_WITH_TIME = re.compile(r"(?:\[\d+\] )?(?:[\w.*-]+: )?\[\[?(\d{10}(?:\.\d+)?)(?:, \{\}\])?, (\{.*\})\]\s*")
"""Matches records that fluent-bit writes to a file and, with `=>` for a colon, to its output."""
_LABEL = re.compile(r'(?<!\w)(\w+)="((?:[^"\\]|\\.)*)"')
_EXPORTED = re.compile(r"^__REALTIME_TIMESTAMP=\d+$", re.M)

_HOST = re.compile(r"([A-Za-z0-9][\w.-]*)(?::\d+)?")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))? ?(Z|UTC|[+-]\d\d:?\d\d)?")
_NUMBER = re.compile(r"(\d{10,19})(?:\.(\d+))?")
_WITHOUT_YEAR = re.compile(r"[A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d")
_STAMPS = ("%d/%b/%Y:%H:%M:%S %z", "%a, %d %b %Y %H:%M:%S %z", "%a %b %d %H:%M:%S %Y")
_FIRST_SECOND, _LAST_SECOND = 946_684_800, 4_102_444_800
"""2000 and 2100: they distinguish seconds from milliseconds, microseconds and nanoseconds."""
_ENVELOPES = [re.compile(SHAPES[name].replace(r"\x{FEFF}", "\ufeff"), re.S) for name in SHAPES if name != "bare"]
_KERNEL_TAG = re.compile(r"(?:(?P<host>[\w.-]+) )?kernel(?:\[\d+\])?: ?(?P<body>.*)", re.S)

Flat = Mapping[str, Any]


def _is_labelled(sample: str, _cluster: ClusterSettings) -> bool:
    first = sample.lstrip().partition("\n")[0]
    return any(form.match(first) for form in (_LABELLED, _BEFORE_JSON, _WITH_TIME))


@dataclass(frozen=True)
class _Envelope:
    """A record: its message, and the rest as far as it is known."""

    message: str
    host: str | None
    moment: str | None
    """As ISO 8601 or syslog writes it; without an offset it is local time."""
    program: str | None
    priority: str | None


def _flat(value: Any, path: str = "", depth: int = 0) -> dict[str, Any]:
    """Return the fields of a record by path; lists of records are left out.

    >>> _flat({"jsonPayload": {"message": "x"}, "labels": [{"key": "host", "value": {"stringValue": "n1"}}]})
    {'jsonpayload.message': 'x', 'labels.host': 'n1'}
    """
    if isinstance(value, list) and value:
        if all(isinstance(one, dict) and one.keys() == {"key", "value"} for one in value):
            value = {str(one["key"]): one["value"] for one in value}
        elif len(value) == 1 and isinstance(value[0], str):
            value = value[0]
    if not isinstance(value, dict):
        return {path: value}
    if len(value) == 1 and (wrapper := next(iter(value))).lower() in names.WRAPPERS and path:
        return {path: value[wrapper]}
    if depth > MAX_DEPTH:
        return {}
    found: dict[str, Any] = {}
    for key, inner in value.items():
        name = key.lower().replace("/", ".")
        found |= _flat(inner, f"{path}.{name}" if path else name, depth + 1)
    return found


@lru_cache(maxsize=1024)
def _paths(fields: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths that fit one of the names, the best first; cached, as records of a shipper have equal fields."""
    by_depth = sorted(fields, key=lambda field: field.count("."))
    return tuple(
        dict.fromkeys(field for name in wanted for field in by_depth if field == name or field.endswith(f".{name}"))
    )


def _first(flat: Flat, wanted: tuple[str, ...], accept: Callable[[Any], str | None]) -> str | None:
    return next((found for path in _paths(tuple(flat), wanted) if (found := accept(flat[path])) is not None), None)


def _message(value: Any) -> str | None:
    """Return a message from text, or from a list of bytes, which journald writes for other data."""
    if isinstance(value, list) and value and all(isinstance(byte, int) and 0 <= byte < 256 for byte in value):
        value = bytes(value).decode("utf-8", errors="replace")
    return value.strip() or None if isinstance(value, str) else None


def _host(value: Any) -> str | None:
    found = _HOST.fullmatch(value) if isinstance(value, str) else None
    return found[1] if found and found[1] != "localhost" else None


def _program(value: Any) -> str | None:
    return re.sub(r"[^\w./()@-]", "_", value.strip().rstrip(":")) or None if isinstance(value, str) else None


def _facility(value: Any) -> str | None:
    return names.PROGRAM_OF_FACILITY.get(str(value).lower())


def _priority(value: Any) -> str | None:
    """Return the mark that syslog writes for a priority, or None if it is unknown.

    >>> [_priority(value) for value in (3, "err", "ERROR", "Warning", "loud")]
    ['<3>', '<3>', '<3>', '<4>', None]
    """
    number = names.PRIORITIES.get(str(value).lower())
    return None if number is None else f"<{number}>"


def moment(value: Any) -> str | None:
    """Return a time as ISO 8601, or in syslog's form if it has no year; None if it cannot be read.

    >>> moment("2026-03-02T10:00:00.123456789Z"), moment(1772445600.5), moment("1772445600123456789")
    ('2026-03-02T10:00:00.123456Z', '2026-03-02T10:00:00.500000Z', '2026-03-02T10:00:00.123456Z')
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = f"{value:.6f}" if isinstance(value, float) else str(value).strip()
    if iso := _ISO.fullmatch(text):
        offset = (iso[4] or "").replace("UTC", "Z")
        return f"{iso[1]}T{iso[2]}{'.' + iso[3][:6] if iso[3] else ''}{offset}"
    if number := _NUMBER.fullmatch(text):
        scale = 10 ** (len(number[1]) - 10)
        seconds, rest = divmod(int(number[1]), scale) if scale in {1, 10**3, 10**6, 10**9} else (0, 0)
        if not _FIRST_SECOND <= seconds < _LAST_SECOND:
            return None
        fraction = f"{rest:0{len(number[1]) - 10}d}" if scale > 1 else number[2] or "0"
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction[:6]:0<6}Z"
    for stamp in _STAMPS:
        try:
            return datetime.strptime(text, stamp).isoformat()
        except ValueError:
            continue
    return text if _WITHOUT_YEAR.fullmatch(text) else None


def _envelope(flat: Flat, depth: int = 0) -> _Envelope | None:
    message = _first(flat, names.MESSAGE, _message)
    if message is None:
        return None
    envelope = _Envelope(
        message,
        _first(flat, names.HOST, _host),
        _first(flat, names.TIME, moment),
        _first(flat, names.PROGRAM, _program) or _first(flat, names.FACILITY, _facility),
        _first(flat, names.PRIORITY, _priority),
    )
    inner = _parsed(message) if message.startswith("{") and depth < MAX_DEPTH else None
    within = _envelope(_flat(inner), depth + 1) if isinstance(inner, dict) else None
    if within is None:
        return envelope
    return _Envelope(
        within.message,
        envelope.host or within.host,
        envelope.moment or within.moment,
        within.program or envelope.program,
        within.priority or envelope.priority,
    )


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _line(envelope: _Envelope, program: str) -> str | None:
    """Return a record as a line of syslog; None if nothing states its time.

    A record that names no program belongs to `program`.
    """
    text = PRIORITY.sub("", envelope.message)
    found = next((match for shape in _ENVELOPES if (match := shape.match(text))), None)
    parts = found.groupdict() if found else {}
    body = parts.get("body", text)
    if not (parts.get("stamp") or parts.get("uptime")):
        named = _KERNEL_TAG.fullmatch(text)
        parts = {"tag": "kernel", **named.groupdict()} if named else {}
        body = parts.get("body", text)
    elif envelope.moment and parts.get("uptime"):
        # If the time is known, seconds since the boot stay in the message.
        body = text
    host = envelope.host or parts.get("host")
    tag = parts.get("tag") or envelope.program or program
    stamp = envelope.moment or _inner_stamp(parts)
    if stamp is None:
        return None
    # The file's name may give the host. Only the kernel's lines have a form without a host.
    if not host and tag != program:
        return ""
    shown_host = f"{host} " if host else "" if tag == "kernel" else "- "
    return f"{envelope.priority or ''}{stamp} {shown_host}{tag}: {body}"


def _inner_stamp(parts: Mapping[str, str | None]) -> str | None:
    if parts.get("uptime"):
        return f"[{parts['uptime']}]"
    stamp, zone = parts.get("stamp"), parts.get("zone")
    return f"{stamp} {zone}" if stamp and zone else stamp


def _records(value: Any, around: Flat) -> Iterator[dict[str, Any]]:
    """Yield the records of a document: the innermost objects with a message, with the fields around them.

    Loki gives an object of labels, and next to it a list of pairs of a time and a line.
    """
    own = _flat(value)
    lists = {path: items for path, items in own.items() if isinstance(items, list)}
    fields = {**around, **{path: item for path, item in own.items() if path not in lists or _message(item)}}
    inner: list[dict[str, Any]] = []
    if _first(own, names.MESSAGE, _message) is None:
        for items in lists.values():
            for item in items:
                if isinstance(item, dict):
                    inner += _records(item, fields)
                elif isinstance(item, list) and len(item) > 1 and moment(item[0]) and isinstance(item[1], str):
                    inner.append({**fields, "time": item[0], "line": item[1]})
    yield from inner or [fields]


def _json_of(pieces: Iterator[str]) -> Iterator[tuple[str, Flat] | SetAside]:
    for record in records_of(pieces):
        if isinstance(record, SetAside):
            yield record
        elif isinstance(record.value, dict):
            for flat in _records(record.value, {}):
                yield json.dumps(flat, ensure_ascii=False), flat
        else:
            yield unsupported(record.value, "no record")


def _labelled_of(pieces: Iterator[str]) -> Iterator[tuple[str, Flat] | SetAside]:
    for line in lines_of(pieces):
        if found := _LABELLED.match(line):
            yield line, {"time": found[1], **dict(_LABEL.findall(found[2])), "line": found[3]}
        elif (found := _BEFORE_JSON.fullmatch(line) or _WITH_TIME.fullmatch(line)) and isinstance(
            record := _parsed(found[2]) or _parsed(found[2].replace('"=>', '":')), dict
        ):
            yield line, {"time": found[1], **_flat(record)}
        else:
            yield SetAside(
                line, "bad_json" if line.strip() else "blank", "no time and labels" if line.strip() else None
            )


_EXPORT_FIELD = re.compile(r"([A-Z_][A-Z0-9_]*)(?:=(.*))?", re.S)


def _exported_of(pieces: Iterator[str]) -> Iterator[tuple[str, Flat] | SetAside]:
    """Yield the entries of `journalctl -o export`: lines of `NAME=value`, with an empty line after each entry.

    A value that is not a line of text follows in the lines after its name.
    """
    entry: dict[str, str] = {}
    open_field, value = "", list[str]()
    for line in chain(lines_of(pieces), [""]):
        field = _EXPORT_FIELD.fullmatch(line)
        if open_field and line and (field is None or field[2] is None):
            value.append(line)
            continue
        if open_field:
            entry[open_field] = _without_length("\n".join(value))
            open_field, value = "", []
        if not line:
            if entry:
                yield json.dumps(entry, ensure_ascii=False), {name.lower(): text for name, text in entry.items()}
            entry = {}
        elif field is None:
            yield SetAside(line, "bad_json", "no field of an entry")
        elif field[2] is None:
            open_field = field[1]
        else:
            entry[field[1]] = field[2]


def _without_length(value: str) -> str:
    """Return a value without the length before it; NULs are already removed from the eight bytes of the length."""
    for count in (1, 2, 3):
        length = len(value[count:].encode()).to_bytes(8, "little")
        if len(length.replace(b"\0", b"")) == count:
            return value[count:]
    return value


def _translate(
    read: Callable[[Iterator[str]], Iterable[tuple[str, Flat] | SetAside]],
    program: str,
    pieces: Iterator[str],
    file: SourceFile,
    _cluster: ClusterSettings,
) -> Iterator[str | SetAside]:
    """Yield the records of a file as lines of syslog.

    Raises
    ------
    SourceError
        No record has a message and a time.
    """
    unread: Flat | None = None
    has_lines = False
    for record in read(pieces):
        if isinstance(record, SetAside):
            yield record
            continue
        text, flat = record
        envelope = _envelope(flat)
        line = _line(envelope, program) if envelope else None
        if line:
            has_lines = True
            yield line
        elif line is not None:
            yield SetAside(text, "untrusted_source")
        else:
            unread = unread or flat
            lacks = "no field that is known to hold a message" if envelope is None else "no time that can be read"
            yield SetAside(text, "missing_message" if envelope is None else "missing_time_or_node", lacks)
    if not has_lines:
        raise _refusal(file.path, unread or {})


def _refusal(path: str, flat: Flat) -> SourceError:
    """Return the refusal of a file, with the command that gives its fields known names."""
    fields = ", ".join(list(flat)[:12]) or "none"

    def known(wanted: tuple[str, ...], accept: Callable[[Any], str | None], instead: str) -> str:
        named = next((field for field in _paths(tuple(flat), wanted) if accept(flat[field]) is not None), None)
        return _in_jq(named) if named else instead

    parts = (
        f"time: {known(names.TIME, moment, '.TIME')}, host: {known(names.HOST, _host, '.HOST')}, "
        f"message: {known(names.MESSAGE, _message, '.MESSAGE')}"
    )
    return SourceError(
        path,
        f"unsupported_schema: no record has a message and a time under names that are known; its fields are {fields}",
        f"Give them such names, with the fields in place of capitals: jq -c '{{{parts}}}' FILE > FOLDER/NAME.jsonl; "
        "from Loki: logcli query --output=jsonl QUERY > FOLDER/NAME.jsonl",
    )


def _in_jq(path: str) -> str:
    r"""Return the path of a field in jq's syntax.

    >>> _in_jq("a.@timestamp")
    '.a."@timestamp"'
    """
    return "".join(f".{name}" if re.fullmatch(r"[a-z_]\w*", name) else f'."{name}"' for name in path.split("."))


_JSON = (
    '{"date": 1772445601.0, "host": "node001", "ident": "kernel", "message": "NVRM: Xid (PCI:0000:1b:00): 48, pid=1"}\n'
)
_LABELLED_LINE = (
    '2026-03-02T10:00:01Z {host="node001"} kernel: NVRM: Xid (PCI:0000:9b:00): 63, pid=1, Row remapping event\n'
)
_EXPORT = """__REALTIME_TIMESTAMP=1772445600000001
_TRANSPORT=kernel
_HOSTNAME=node001
MESSAGE=NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus.

"""
_CONTROLLER = (
    '{"__REALTIME_TIMESTAMP": "1772445600000001", "_HOSTNAME": "ctl", "SYSLOG_IDENTIFIER": "slurmctld", '
    '"MESSAGE": "error: Nodes node001 not responding, setting DOWN"}\n'
)
FORMS = (
    Translation("shipper_json", "kernel", holds(_BEGINS_JSON), partial(_translate, _json_of, "kernel"), _JSON, rank=1),
    Translation(
        "labelled", "kernel", _is_labelled, partial(_translate, _labelled_of, "kernel"), _LABELLED_LINE, rank=1
    ),
    Translation(
        "journal_json", "slurmctld", holds(_BEGINS_JSON), partial(_translate, _json_of, "slurmctld"), _CONTROLLER
    ),
    Translation("journal_export", "kernel", holds(_EXPORTED), partial(_translate, _exported_of, "kernel"), _EXPORT),
)
