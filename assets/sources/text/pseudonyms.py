r"""Replace names with keyed hashes, and cut free text to words of a closed list, before a row is stored.

This applies to clusters with `privacy = "pseudonymous"`. `PRIVACY` of each reader says what every text of its raw table
holds; a test compares it with the schema. The words are those of Slurm, of the drivers and of the rules that classify
texts, so the rules still match. Whether two texts are equal stays visible, and nothing else.

The key is a variable of the connection, so no statement, plan or view contains it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache

import duckdb

from assets.sources.text.check_subjects import SUBJECT, SUBJECTS
from assets.sql import identifier, literal
from assets.warehouse import one_value

VERSION = 5
"""Increase it when the same text gives another result: files of such clusters are then read again."""
HIDDEN = "(not kept)"
"""Replaces the text of a quarantined line."""
KEY = "faultline_pseudonym_key"
"""Name of the variable that holds the key."""

KEPT, USER, UID, REASON, TEXT, CHECK_TEXT, TICKET, STATE, DROPPED = (
    "kept", "user", "uid", "reason", "text", "check_text", "ticket", "state", "dropped"
)  # fmt: skip
"""What a column holds: KEPT means nothing about people. Any word other than these is a kind of name: equal names of one
kind get the same pseudonym."""

COMMON: dict[str, str] = dict.fromkeys(("cluster_id", "path", "disposition", "node_name", "node_id"), KEPT)
"""Columns that hold the same kind of text in every raw table."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


WORDS = _words(
    """
    accelerator access action address airstore alarm alloc allocation allocationfailed allreduce appear asap asserted
    availability available awaiting back bandwidth batch become becomes beegfs bios blacklist block blockdev blocks
    board bond boot bounc broken buddyinfo busy cable cannot capacity card carrier cause ceph certs change changed
    changes chassis check checkpoint clean clear clock clocksource closed cluster code cold complete completed compute
    config connect connection connector contact contents controller core correctable corrected corrupt corruption count
    counter counts cpuinfo cpus create credential critical cuda cycl daemon data dcgmi dead deasserted debug
    decommission defect denylist deployment detect detected device diag diagnostic dimm directory disabled disconnect
    disk doesn double doublebit down downgrad drain drained draining drive driver dropped dstate duplicate edac enabled
    environment envs epilog error errors ethernet ethernetdegradationcheck ethernetstatecheck ethlink event evict exceed
    exception exchang exhausted exist exists exit expected fabric fail failed failure fall fallen false fans fatal fault
    faultcode faulty file filesystem filter firmware first flap flapping flaps flash found free freq frequency full
    gained governor gpfs gpudriverwatch gpuinforomwatch gpumcuwatch gpumemwatch gpunvlinkwatch gpunvswitchfatalwatch
    gpunvswitchnonfatalwatch gpupciewatch gpupmuwatch gpupowerwatch gpus gpusmwatch gputhermalwatch grad graphics gres
    hang hard hardware health healthmon heat high higher home host hung iblink ibstat idle ierr ifree infiniband
    infinibanddegradationcheck infinibandstatecheck inforom inode inodes inspect instance instances insufficient
    interface interfaces internal interrupt invalid investigat ipmi ipmitool issue issued itself iused jobid kernel kill
    killed kswapd latency launch left lemon level library limit limited line lineage link list load loadavg lockup
    logging logical loopback loss lost lower lustre machine main mainboard maint maintenance manager manual match
    maxspotinstancecount mcelog mcerr memory memtest mismatch missing mmfs mode module monitor motherboard mount mounted
    mountpoint nccl needed needs network nhcna node nodes none normal nothing nvbandwidth nvidia nvidiasmi nvlink nvme
    nvml nvrm nvsmi nvswitch observ occup only operational operator optic outage output over overconstrained package
    page pages panic parity part passed password patch path pcie peermem pending permissions perr persistence physical
    physmem ping planned plug plugged policy pool port positive power powered preempt preempted problem process
    processes processor procs produc prolog protocol ptlrpc pulse rate rccl reached read ready realmemory reboot
    rebooted reclaim reconnect record recover recovered recovery redundancy reflash register registration reimag
    reinstall release reload remap remapp remapped remount remounted repair replac replaced replacement replug repos
    reproduc request requested requeue requeued required requires reseat reservation reset resize resource respond
    responding restart restored resum resume resumetimeout retire retired retirement return returned riser rolling root
    rowremap rows running scheduled scheduler scratch seat seconds secs segfault segment sensor sensors serial serr
    server service session setting setup severity silently size skunotavailable slot slow slowdown slurm slurmctld
    slurmd smart socket soft software space speed spot spotmaxpricetoolow sssd stale start stat state status step stop
    storage stream stress suppl supply suspect swap swapped switch sxid syslogsgpufallenoff syslogsnicdrivererror
    syslogssxiderror syslogsxiderror system targeted task temp temperature terminated terminating test tests thermal
    threshold throttle throttled throttling ticket tighten time timed timeout tmpdisk topology training transceiver
    transport tray trip trouble unable unauth unavail unavailable uncontained uncorrect uncorrectable uncorrected
    undrain unexpected unexpectedly unfulfillable unhealthy unknown unmount unplugged unreachable unrecoverable
    unresponsive updat update updated upgrad upper uptime usage used user userproc users value variables vast vbios
    vendor version violation voltage volume wait warm warn warning watchdog weka width write zombie zonal
    """
)
"""Words that stay anywhere, even as part of a longer word, as the rules look for parts."""

SHORT_PARTS = ("aer", "ecc", "hbm", "mce", "mem", "nfs", "nhc", "pod", "rma", "tmp", "xid")
"""The same, with three letters."""

SHORT_WORDS = _words(
    """
    a ac aer after all amd an and are as at bad be been before bit bmc bus but bw by ce cmd cpu cpus cut day dbe dev dmi
    dnf ecc en env eth eud fan flr for from fs gb gdr gpu gpus gsp has have hbm hc hca hour hw i ib id in io ip is it
    job jobs l ll log low max mb mca mce mem min mlx ms n net new nff nfs nhc nic no non not ntf num nv o of off ok on
    one oom or os out pci per pid ps psu put ram ras raw re rma ro rom row rw s sbe sec sel set sm smi ssd ssh t tb temp
    than that the then this tmp to two uc ue un up var via was were will with xid z
    """
)
"""Words that stay only if no letter is next to them."""
_SHORT = frozenset(SHORT_WORDS)

_PARTS = re.compile(
    r"""
    \b(?P<word_xid>xid)(?P<errors>\s+errors?)?(?:\s*\([^)]*\))?(?P<gap>\s*[:=#]?[\s\[]*)(?P<xid>[0-9]{1,3})\b
    | (?P<check>check_(?:hw_)?(?:nv|ib|eth|mem|physmem|swap)|module\ ib|rebooted\ [0-9]+\ secs?\ ago|boot_time=[0-9]+)
    | (?P<before>[A-Za-z]*)(?P<nhc>nhc[0-9]{4})
    | (?P<address>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-9a-f])?)
    | (?P<word>[A-Za-z]+)
    | (?P<number>[0-9]+)
    """,
    re.IGNORECASE | re.ASCII | re.VERBOSE,
)
"""Matches an Xid with its number, the beginning of a check of devices, a code of Azure's NHC, a PCI address, and any
other word or number."""
_ODD = re.compile(r"[^\t-\r -~]+")
"""Matches text beyond ASCII, where patterns know no letters."""
_OWN_DETAIL = (
    r"(?:[0-9 :.,()+TZ-]|\b(?:End|Start|Submit|before|to|UTC|fields|cells|columns|no|such|date|node|host|ticket|id)\b)*"
)
FUNCTION = "cut_to_words"
"""The name of the function in SQL."""


def give_key(con: duckdb.DuckDBPyConnection, key: str) -> None:
    """Set the key with which the connection hashes names until it is closed."""
    con.execute(f"set variable {KEY} = ?", [key])


def require_key(con: duckdb.DuckDBPyConnection) -> None:
    """Raise an error if a cluster wants pseudonyms and the connection has no key, so that no plain name is stored."""
    if not one_value(con, f"select coalesce(length(getvariable({literal(KEY)})), 0) > 0"):
        raise PermissionError("names are to be hashed, and the key for it was not given")


def keyed_hash(kind: str, text: str, digits: int) -> str:
    """Return SQL for a keyed hash of a text: SHA-256 within SHA-256, as in HMAC, cut to some digits.

    Parameters
    ----------
    kind
        Equal texts of different kinds get different hashes, so that they cannot be linked.
    text
        SQL of a text; NULL gives NULL.
    digits
        Number of hexadecimal digits to keep.
    """
    inner = f"sha256(getvariable({literal(KEY)}) || {literal(f':{kind}:')} || {text})"
    return f"left(sha256({inner} || getvariable({literal(KEY)})), {digits})"


def pseudonym(kind: str, text: str) -> str:
    """Return SQL for the pseudonym of a name, such as `account-3f9a12c04b7d`; NULL and the empty text stay."""
    return f"case when {text} = '' then '' else {literal(f'{kind}-')} || {keyed_hash(kind, text, 12)} end"


def words_of(patterns: Iterable[str]) -> list[str]:
    r"""Return the words of three letters or more in patterns of a site.

    >>> words_of([r"\briser(s)? loose", "(?i)Rack.?door"])
    ['door', 'loose', 'rack', 'riser']
    """
    bare = (re.sub(r"\\[A-Za-z]|\(\?[A-Za-z:]+|\[[^\]]*\]", " ", pattern) for pattern in patterns)
    return sorted({word.lower() for pattern in bare for word in re.findall(r"[A-Za-z]{3,}", pattern)})


class WordCutter:
    """Cuts texts to known words; looks at each distinct word of a long text once.

    Parameters
    ----------
    site_words
        Words of the site's own rules, in lower case.
    """

    def __init__(self, site_words: Iterable[str] = ()) -> None:
        long = sorted({*WORDS, *SHORT_PARTS, *site_words}, key=lambda word: (-len(word), word))
        self._long = re.compile(f"(n?correctable|{'|'.join(map(re.escape, long))})", re.IGNORECASE)
        self._word = lru_cache(maxsize=100_000)(self._cut_word)

    def __call__(self, text: str) -> str:
        """Return a text with only known words, Xid numbers, NHC codes, PCI addresses and punctuation.

        Every other word becomes `x`. Every other number becomes 0, 1, 0000 or 9999, so it stays zero or not, and long
        or short.

        >>> WordCutter()("NVRM: Xid (PCI:0000:3b:00): 79, pid=10043, name=alice, GPU has fallen off the bus")
        'NVRM: Xid: 79, pid=9999, x=x, GPU has fallen off the bus'
        """
        return _PARTS.sub(self._cut_part, _ODD.sub("?", text))

    def _cut_part(self, part: re.Match[str]) -> str:
        if part["word"]:
            return self._word(part["word"])
        if part["number"]:
            zero = part["number"][0] == "0"
            return ("0" if zero else "1") if len(part["number"]) < 4 else ("0000" if zero else "9999")
        if part["xid"]:
            return f"{part['word_xid']}{part['errors'] or ''}{part['gap']}{part['xid']}"
        if part["nhc"]:
            return self._word(part["before"]) + part["nhc"]
        return part["check"] or part["address"]

    def _cut_word(self, word: str) -> str:
        if word.lower() in _SHORT:
            return word
        return "".join(part if place % 2 else "x" if part else "" for place, part in enumerate(self._long.split(word)))


def create_cut_function(con: duckdb.DuckDBPyConnection, site_words: Iterable[str] = ()) -> None:
    """Create the SQL function `cut_to_words` in a connection; replace an earlier one."""
    with suppress(duckdb.InvalidInputException):
        con.remove_function(FUNCTION)
    con.create_function(FUNCTION, WordCutter(site_words), ["VARCHAR"], "VARCHAR")


def stored(what: str, column: str) -> str | None:
    """Return SQL for the stored form of a column that holds `what`; None if it is stored as it is.

    The connection needs the key, and the function of `create_cut_function` with the site's words.
    """
    name = identifier(column)
    if what == KEPT:
        return None
    if what == CHECK_TEXT:
        return _text_of_check(name)
    if what in (REASON, TEXT):
        return _text(name, f"lower(trim({name}))" if what == REASON else name)
    return _name(what, name)


def _name(what: str, name: str) -> str:
    """Return SQL for the stored form of a name."""
    if what == DROPPED:
        return "null"
    if what == STATE:
        return f"split_part({name}, ' by ', 1)"
    if what == UID:
        digits = keyed_hash("uid", f"{name}::varchar", 7)
        return f"case when {name} = 0 then 0 else ('0x' || {digits})::bigint end"
    if what == USER:
        # These two are not people: whether a person or Slurm drained a node must stay visible.
        return f"case when {name} in ('root', 'slurm') then {name} else {pseudonym('user', name)} end"
    if what == TICKET:
        is_number = rf"regexp_full_match({name}, '[A-Za-z]{{0,12}}[-_# ]?\d{{1,12}}')"
        return f"case when {is_number} then {name} else {pseudonym('ticket', name)} end"
    return pseudonym(what, name)


def _text(name: str, compared: str) -> str:
    """Return SQL for a free text cut to words. If anything was cut, a hash at its end distinguishes the text.

    A text of only known words stays: the models compare texts of people with those that Slurm writes.
    """
    return (
        f"case when trim({name}) = '' or {FUNCTION}({name}) = {name} then {name} "
        f"else {FUNCTION}({name}) || ' #' || {keyed_hash('text', compared, 12)} end"
    )


def _text_of_check(name: str) -> str:
    """Return SQL for the message of a check's result.

    Most results are good, and no rule looks at their words. For checks that name a subject, its pseudonym follows the
    words that the rules expect before a subject.
    """
    hashed = keyed_hash("subject", "subject", 12)
    subjects = (
        f"array_to_string(list_transform(list_distinct(regexp_extract_all({name}, {literal(SUBJECT)}, 1)), "
        f"lambda subject: ' service status: ' || {hashed}), '')"
    )
    has_subject = f"lower(trim(check_name)) in ({', '.join(literal(subject) for subject in SUBJECTS)})"
    # The subject is not found in the words themselves, where good results have none.
    body = f"regexp_replace(lower({FUNCTION}({name})), '(service status:|mounted directory) ', '\\1  ', 'g')"
    return (
        f"case when trim({name}) = '' then {name} "
        f"else case when result = 'OK' then '' when {has_subject} then {body} else {FUNCTION}({name}) end || "
        f"case when {has_subject} then {subjects} else '' end || "
        f"' #' || {keyed_hash('text', name, 12)} end"
    )


def replaced_columns(privacy: Mapping[str, str], columns: Iterable[str]) -> str:
    """Return the `replace` list for a query of rows of a raw table; empty if nothing is replaced."""
    replaced = []
    for column in columns:
        sql = stored(privacy.get(column, KEPT), column)
        if sql is not None:
            replaced.append(f"{sql} as {identifier(column)}")
    return ", ".join(replaced)


def kept_detail(detail: str) -> str:
    """Return SQL for the detail of a quarantined line if it is only times, numbers and our own words; else NULL."""
    return f"case when regexp_full_match({detail}, {literal(_OWN_DETAIL)}) then {detail} end"
