"""A cluster with an unmistakable name in every field that may hold one: the genuine capture, with names.

Names are planted in loaded, quarantined, skipped and refused data. Search for `MARK`, in any case of letters, to find
one.
"""

from __future__ import annotations

import gzip
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb

from orchestration.settings.home import Home

MARK = "zqxv"
CAPTURE = Path(__file__).parents[2] / "data" / "sources" / "testbed"
PLAIN = "[quarantine]\nmax_share = 0.5\n"
"""A large share of the few lines is odd."""
PRIVATE = f'privacy = "pseudonymous"\n{PLAIN}'
_NAMED = ("User", "Account", "JobName", "Comment", "AdminComment", "SystemComment", "WorkDir", "Group", "WCKey")


def write_planted(sources: Path, settings: str = PRIVATE, cluster: str = "planted") -> Path:
    """Write the logs of the cluster into a sources folder and return the cluster's folder."""
    folder = sources / cluster
    _write(folder / "cluster.toml", settings)
    _write(folder / "sacct" / "all.psv", _accounting())
    _write(folder / "sacct" / "all.psv.manifest.json", _manifest())
    _write(folder / "events" / "events.psv", _events())
    _write(folder / "slurmctld" / "slurmctld.log", _controller_log())
    _write(folder / "health" / "checks.jsonl", _health())
    _write(folder / "health" / "nhc.log", _nhc())
    _write(folder / "kernel" / "syslog-20261121.log", _kernel())
    _write(folder / "inventory" / "nodes.txt", _inventory())
    _write(folder / "inventory" / "refused.txt", f"scontrol: error: {MARK}refused: no such user\n")
    _write(folder / "squeue" / "squeue.txt", _queue())
    _write(folder / "tickets" / "tickets.csv", _TICKETS)
    return folder


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    os.utime(file, (1795320000, 1795320000))


def _text(kind: str) -> str:
    (file,) = (CAPTURE / kind).iterdir()
    return file.read_text(encoding="utf-8")


def _accounting() -> str:
    header, *lines = _text("sacct").splitlines()
    names = header.split("|")
    shown = [header]
    for line in lines:
        record = dict(zip(names, line.split("|"), strict=True))
        for name in _NAMED:
            record[name] = record[name] and f"{MARK}{record[name]}"
        if "." not in record["JobID"]:
            record["Comment"] = f"{MARK}comment"
            record["UID"] = record["UID"] and f"77{record['UID']}"
        if record["SubmitLine"]:
            record["SubmitLine"] = record["SubmitLine"].replace("sbatch", f"sbatch --comment={MARK}comment", 1)
        shown.append("|".join(record.values()))
    good = dict(zip(names, shown[1].split("|"), strict=True))
    for number, (field, value) in enumerate(
        {"Submit": f"{MARK}time", "State": f"{MARK}STATE", "JobIDRaw": f"{MARK}id", "AllocTRES": f"{MARK}tres"}.items()
    ):
        shown.append(
            "|".join({**good, "JobID": str(90_000 + number), "JobIDRaw": str(90_000 + number), field: value}.values())
        )
    return "\n".join([*shown, f"{MARK}cut|off"]) + "\n"


def _manifest() -> str:
    return (
        '{"command": "sacct -u ' + MARK + 'user -P", "from": "2026-11-21T00:00:00+00:00",'
        ' "to": "2026-11-22T00:00:00+00:00"}\n'
    )


def _events() -> str:
    header, *lines = _text("events").splitlines()
    shown = [header]
    for line in lines:
        record = dict(zip(header.split("|"), line.split("|"), strict=True))
        if record["NodeName"] and record["Reason"]:
            record["Reason"] += f" says {MARK}admin"
            record["User"] = f"{MARK}root(7701)"
        shown.append("|".join(record.values()))
    return "\n".join([*shown, f"testbed|node003|{MARK}start|Unknown|DOWN|{MARK}reason|{MARK}root(7701)|"]) + "\n"


def _controller_log() -> str:
    text = re.sub(r"(reason set to: .*)", rf"\1 {MARK}admin", _text("slurmctld"))
    return (
        f"{text}[2026-11-21T09:00:00.000] _slurm_rpc_submit_batch_job: JobId=9 user={MARK}user\n"
        "[2026-11-21T09:00:01.000] preempted JobId=5 has been requeued to reclaim resources for JobId=5"
        f" of {MARK}user\n"
    )


def _health() -> str:
    text = re.sub(r'("result": [12].*"_msg": ".*?)"', rf'\1 of {MARK}user"', _text("health"))
    text = re.sub(r'("result": 0.*"_msg": ".*?)"', rf'\1 of {MARK}user"', text)
    shown = (
        '{"normal": {"node": "node003", "health_check": "service status", "type": "nagios", "_msg": "Service '
        f'{MARK}-jupyter is %s"}}, "int": {{"result": %d, "job_id": 0}}, "double": {{"end_time": %d}}}}\n'
    )
    services = "".join(shown % row for row in (("up", 0, 1795250000), ("down", 2, 1795250300), ("up", 0, 1795250600)))
    return f'{text}{services}plain words of {MARK}user\n{{"health_check": "xid errors", "_msg": "{MARK}broken\n'


def _nhc() -> str:
    return (
        f"Nov 21 09:10:00 node004 nhc[77]: Health check failed:  check_ps_unauth_users:  {MARK}user's {MARK}sshd\n"
        f"Nov 21 09:10:00 node004 nhc[78]: Health check failed:  check_fs_mount:  /home/{MARK}user not mounted\n"
    )


def _kernel() -> str:
    lines = (
        f"node003 kernel: [250000.1] Memory cgroup out of memory: Killed process 4242 ({MARK}proc) total-vm:1kB",
        f"node003 kernel: [250001.1] NVRM: Xid (PCI:0000:3b:00): 31, pid=4242, name={MARK}proc, Ch 00000008, MMU Fault",
        f"node004 kernel: [250002.1] INFO: task {MARK}proc:4242 blocked for more than 120 seconds in nfs",
        f"node004 kernel: [250003.1] {MARK}proc[4242]: segfault at 0 ip 0 sp 0 error 4 in libnccl.so.2",
        f"node004 kernel: [250004.1] NVRM: Xid (PCI:0000:3b:00): {MARK}code",
        f"node004 {MARK}daemon: NVRM: Xid (PCI:0000:3b:00): 79",
    )
    return _text("kernel") + "".join(f"Nov 21 09:00:0{number} {line}\n" for number, line in enumerate(lines))


def _inventory() -> str:
    return re.sub(r"Reason=(.*?) \[\w+@", rf"Reason=\1 for {MARK}admin [{MARK}root@", _text("inventory"))


def _queue() -> str:
    return (
        "JOBID|PARTITION|NAME|USER|EXC_NODES\n"
        f"67|dev|{MARK}job|{MARK}user|node003\n68|dev|{MARK}job|{MARK}user|\n{MARK}|dev|{MARK}job|{MARK}user|node003\n"
    )


_TICKETS = f"""ticket_id,node,opened,closed,component,action,status,summary
T-1,node003,2026-11-21T08:30:00,2026-11-21T10:00:00,GPU {MARK},replaced by {MARK}tech,shut {MARK},"{MARK}user, GPU bad"
{MARK}-ticket,node004,2026-11-21T08:30:00,,DIMM,,open,asked {MARK}user
T-3,node004,{MARK}date,,DIMM,,open,asked {MARK}user
"""


def names_in(text: str) -> list[str]:
    """Return the planted names in a text, for the message of a test."""
    return sorted({found.group(0) for found in re.finditer(rf"[\w./-]*{MARK}[\w./-]*", text, re.IGNORECASE)})


def files_with_names(home: Home) -> list[str]:
    """List the files of a home, except its sources, with a planted name in their bytes, rows or unpacked text."""
    found = []
    for file in sorted(path for path in home.root.rglob("*") if path.is_file() and not path.is_symlink()):
        if file.is_relative_to(home.sources):
            continue
        content = file.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content += gzip.decompress(content)
        names = names_in(content.decode("latin-1") + file.name)
        if file.suffix == ".duckdb":
            # Fragments of seven bytes at most may be in memory that DuckDB writes with its blocks: docs/privacy.md.
            names = [name for name in names if len(name) > 7] + names_in(rows_of_duckdb(file))
        if content.startswith(b"SQLite format 3"):
            names += names_in(rows_of_sqlite(file))
        if names:
            found.append(f"{file.relative_to(home.root)}: {names[:5]}")
    return found


def rows_of_duckdb(file: Path) -> str:
    """Return all rows of all tables as text: DuckDB compresses what it stores."""
    with duckdb.connect(str(file), read_only=True) as con:
        names = con.execute("select schema_name, table_name from duckdb_tables()").fetchall()
        return "\n".join(
            str(row)
            for schema, table in names
            for row in con.execute(f'select rows::varchar from "{schema}"."{table}" as rows').fetchall()
        )


def rows_of_sqlite(file: Path) -> str:
    """Return all rows of all tables as text."""
    with closing(sqlite3.connect(file)) as con:
        names = con.execute("select name from sqlite_master where type = 'table'").fetchall()
        return "\n".join(str(row) for (name,) in names for row in con.execute(f'select * from "{name}"').fetchall())
