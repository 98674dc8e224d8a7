"""Read values of accounting fields: states, TRES, memory, durations, exclusions, each from a text that sacct prints."""

from __future__ import annotations

import base64
import json
import re
import shlex
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from statistics import fmean

MAX_SECONDS = 100 * 366 * 86400
"""Longer than any run or suspension."""
LARGEST_ID = 2**60
"""Above any number that Slurm gives a job. A number made from a text lies between this and its double."""
MAX_COUNT = 10**7
"""More CPUs or GPUs than any job gets."""
SECONDS_PER = {"day": 86400, "hour": 3600, "minute": 60}
_DURATION = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?", re.ASCII)
_MAX_DIGITS = 20

_OPEN = (
    "PENDING RUNNING SUSPENDED COMPLETING STAGE_OUT CONFIGURING EXPEDITING REQUEUE_FED REQUEUE_HOLD STOPPED "
    "RESV_DEL_HOLD SIGNALING"
)
_FINAL = (
    "COMPLETED CANCELLED FAILED TIMEOUT NODE_FAIL PREEMPTED BOOT_FAIL DEADLINE OUT_OF_MEMORY RESIZING REQUEUED "
    "SPECIAL_EXIT REVOKED"
)
STATES = (*_OPEN.split(), *_FINAL.split())
OPEN_STATES = frozenset(_OPEN.split())
"""States of a record that is not finished; every other state is terminal."""
NO_UID = 4294967294
"""Slurm's NO_VAL: no user was recorded."""


class ValueProblem(ValueError):
    """A value that cannot be understood; `reason` is the reason of the quarantine."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        super().__init__(detail)


@dataclass(frozen=True)
class State:
    """A job state in full."""

    name: str
    cancelled_by_uid: int | None = None
    was_cut: bool = False


def read_duration(text: str) -> int | None:
    """Return `[D-]HH:MM:SS` or `MM:SS[.mmm]` in whole seconds; None for INVALID, UNLIMITED and the like.

    An impossibly long duration gives `MAX_SECONDS` plus one second.

    >>> read_duration("3-01:02:03"), read_duration("00:15.057")
    (262923, 15)
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        return None
    if any(len(part or "") > _MAX_DIGITS for part in match.groups()):
        return MAX_SECONDS + 1
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total = days * SECONDS_PER["day"] + hours * SECONDS_PER["hour"] + minutes * SECONDS_PER["minute"] + seconds
    return min(total, MAX_SECONDS + 1)


def read_state(text: str) -> State:
    """Return a state; a name that fixed-width printing cut off is completed.

    >>> read_state("CANCELLED by 1004").cancelled_by_uid
    1004
    >>> read_state("OUT_OF_ME+").name
    'OUT_OF_MEMORY'
    """
    name, by, who = text.strip().partition(" by ")
    was_cut = name.endswith("+")
    name = name.rstrip("+")
    if name not in STATES:
        fitting = [state for state in STATES if was_cut and name and state.startswith(name)]
        if len(fitting) != 1:
            raise ValueProblem("unknown_state", f"State {text[:80]!r} is not a state of Slurm")
        name = fitting[0]
    else:
        was_cut = False
    uid = int(who) if by and re.fullmatch(r"[0-9]{1,10}", who) else None
    return State(name, None if uid == NO_UID else uid, was_cut)


NO_COUNT = frozenset({"none", "n/a", "(null)"})
"""Texts, in lower case, that Slurm prints for an unknown count."""


@dataclass(frozen=True)
class Tres:
    """The CPUs and GPUs in a TRES string; None if it does not state them."""

    gpu_count: int | None = None
    gpu_count_source: str = "none"
    gpu_type: str | None = None
    cpu_count: int | None = None


def read_tres(text: str, accelerators: Collection[str] = ("gpu",)) -> Tres:
    """Return the counts in `cpu=8,gres/gpu:a100=4,gres/gpu=4`: the untyped count of GPUs, else the sum of the typed.

    GPUs without a count are unknown, which differs from none. The type of an accelerator other than `gpu` is its name,
    unless it has another type.

    >>> read_tres("cpu=64,gres/gpu:a100=4,gres/gpu:v100=4,node=2")
    Tres(gpu_count=8, gpu_count_source='tres_typed', gpu_type='mixed', cpu_count=64)
    >>> read_tres("cpu=64,gres/gpu=NONE")
    Tres(gpu_count=None, gpu_count_source='no_count', gpu_type=None, cpu_count=64)
    >>> read_tres("cpu=64,gres/hpu=8", ["gpu", "hpu"])
    Tres(gpu_count=8, gpu_count_source='tres', gpu_type='hpu', cpu_count=64)
    """
    cpus: int | None = None
    is_uncounted = False
    untyped: dict[str, int] = {}
    typed: dict[str, dict[str, int]] = {}
    for item in text.split(","):
        name, equals, value = item.partition("=")
        if not equals:
            raise ValueProblem("bad_tres", f"{item[:80]!r} in {text[:200]!r} is not name=value")
        gres, _, kind = name.removeprefix("gres/").partition(":")
        is_gpu = name.startswith("gres/") and gres in accelerators
        if not is_gpu and name != "cpu":
            continue
        if value.lower() in NO_COUNT:
            is_uncounted = is_uncounted or is_gpu
            continue
        number = _tres_count(value, f"{item[:80]!r} in {text[:200]!r}")
        if name == "cpu":
            cpus = number
        elif kind:
            kinds = typed.setdefault(gres, {})
            kinds[kind] = kinds.get(kind, 0) + number
        else:
            untyped[gres] = number
    found = dict.fromkeys([*untyped, *typed])
    if not found:
        return Tres(gpu_count_source="no_count" if is_uncounted else "none", cpu_count=cpus)
    types = [kind for gres in found for kind in typed.get(gres, () if gres == "gpu" else (gres,))]
    total = sum(untyped.get(gres, sum(typed.get(gres, {}).values())) for gres in found)
    return Tres(
        _tres_count(str(total), f"the number of GPUs in {text[:200]!r}"),
        "tres" if untyped else "tres_typed",
        None if not types else types[0] if len(types) == 1 else "mixed",
        cpus,
    )


def _tres_count(value: str, what: str) -> int:
    if not re.fullmatch(r"[0-9]{1,20}", value) or int(value) > MAX_COUNT:
        raise ValueProblem("bad_tres", f"{what} is not a count")
    return int(value)


_MEMORY = re.compile(r"(\d+(?:\.\d+)?)([KMGTPE]?)([nc]?)", re.I)
_MIB = {"K": 1 / 1024, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3, "E": 1024.0**4}
_PER_CPU_FLAG = 0x80000000
MAX_MIB = 2.0**40
"""A thousand times more than any job requests."""


@dataclass(frozen=True)
class Memory:
    """Requested memory in MiB, per `job`, `node` or `cpu`."""

    mib: float | None
    per: str


def read_memory(text: str) -> Memory:
    """Return ReqMem; 0 requests whole nodes, so it is not a number.

    Slurm up to 20.11 prints a suffix n (per node) or c (per CPU), and once forgot to mask its per-CPU flag.

    >>> read_memory("2147486648Mn")
    Memory(mib=3000.0, per='cpu')
    """
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        return Memory(None, "job")
    number, unit, per = float(match[1]), match[2].upper(), match[3].lower()
    if number >= _PER_CPU_FLAG and unit in {"", "M"}:
        number, per = number - _PER_CPU_FLAG, "c"
    mib = number * _MIB[unit]
    return Memory(mib if 0 < mib < MAX_MIB else None, {"": "job", "n": "node", "c": "cpu"}[per])


JOB_SUMMARY = "JS1:"
"""The beginning of jobstats' summary of a job in AdminComment."""
_NO_SUMMARY = frozenset({"JS1:Short", "JS1:None"})
_MAX_SUMMARY_BYTES = 2**22
"""The summary of a job of 512 nodes has 150,000."""


def read_gpu_utilisation(comment: str) -> float | None:
    """Return the mean utilisation of a job's GPUs, 0 to 1, from jobstats' summary: base64 of gzip of JSON.

    None if the job was too short for a value, or had no GPU.

    >>> read_gpu_utilisation(
    ...     "JS1:H4sIAAAAAAACA6tWystPSS1WsqpWyjMEkekFpfGlJZk5mVWJJZn5eSAhAyUrAz0DHSWgvIW5nmEtEAAAMyWIVTcAAAA="
    ... )
    0.4355
    """
    if comment in _NO_SUMMARY:
        return None
    try:
        unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        packed = base64.b64decode(comment.removeprefix(JOB_SUMMARY), validate=True)
        nodes = json.loads(unpacking.decompress(packed, _MAX_SUMMARY_BYTES))["nodes"]
        shares = [float(share) for node in nodes.values() for share in node.get("gpu_utilization", {}).values()]
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, zlib.error) as error:
        raise ValueProblem("unreadable_summary", f"{comment[:80]!r} is no summary of jobstats") from error
    if not all(0 <= share <= 100 for share in shares):
        raise ValueProblem("unreadable_summary", f"a utilisation in {comment[:80]!r} is no percentage")
    return fmean(shares) / 100 if shares else None


_FLAGS = (
    "parsable exclusive requeue no-requeue wait overcommit oversubscribe share contiguous hold immediate quiet verbose "
    "test-only spread-job use-min-nodes reboot no-kill get-user-env propagate nice bcast label unbuffered pty overlap "
    "multi-prog disable-status preserve-env no-allocate x11 ignore-pbs help usage version async"
)
_OPTIONS_WITHOUT_VALUE = frozenset(_FLAGS.split())
_QUOTES = re.compile(r"['\"\\]")
_LETTERS_WITHOUT_VALUE = frozenset("HhIkOQsvVWXluZKE")


def _words(command: str) -> list[str]:
    """Return the words of a command; only a command with quotes needs the shell's slow rules."""
    if not _QUOTES.search(command):
        return command.split()
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def read_exclusions(submit_line: str) -> list[str]:
    """Return the node lists that a submit line excludes with --exclude or -x; the script's own arguments do not count.

    >>> read_exclusions("sbatch --exclude=gpu[001-002],gpu9 -x gpu010 train.sh -x data")
    ['gpu[001-002],gpu9', 'gpu010']
    """
    words = _words(submit_line)
    lists: list[str] = []
    place = 1
    while place < len(words):
        word = words[place]
        following = words[place + 1] if place + 1 < len(words) else ""
        place += 1
        if word.startswith("--exclude="):
            lists.append(word.removeprefix("--exclude="))
        elif word in {"--exclude", "-x"}:
            lists.append(following)
            place += 1
        elif word.startswith("--"):
            takes_value = "=" not in word and word[2:] not in _OPTIONS_WITHOUT_VALUE
            place += 1 if takes_value else 0
        elif word.startswith("-x"):
            lists.append(word[2:].removeprefix("="))
        elif word.startswith("-") and len(word) > 1:
            place += 1 if len(word) == 2 and word[1] not in _LETTERS_WITHOUT_VALUE else 0
        else:
            break
    return [text for text in lists if text]
