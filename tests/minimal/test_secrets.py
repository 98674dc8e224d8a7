"""Secrets in every text of every kind of log are not published, printed or kept, whether their line is read or not."""

from __future__ import annotations

import duckdb

from tests.logs import Cluster, at

TOKEN = "hf_Planted0Planted1Planted2Planted3"
WORD = "swordfish-planted"
PLANTED = (TOKEN, WORD)
SPOILED = f"DB_PASSWORD={WORD}; curl -H 'Authorization: Bearer {TOKEN}' https://me:{WORD}@example.com/ -k {TOKEN}"
SUBMIT = f"sbatch --export=ALL,API={WORD} --job-name=x --exclude=n4 train.sh --password {WORD} --hub {TOKEN}"
NAME = f"train-TOKEN={WORD}-{TOKEN}"

MINUTE = 1 / 60
CLUSTERS = {
    "secrets": Cluster('[quarantine]\nmax_share = 1.0\n[report]\nnames = "hidden"\n')
    .inventory("n[1-4]", Reason=f"PASSWORD={WORD} [root@2024-05-01T00:00:00]")
    .job(1, "n1", at(1), at(2), "FAILED", JobName=NAME, SubmitLine=SUBMIT, User="zebulon", Account="planted-account",
         Comment=f"TOKEN={WORD}", AdminComment=SPOILED, WorkDir=f"/home/zebulon/{TOKEN}")
    .job(2, "n2", at(1), at(2), "NODE_FAIL", JobName=NAME, SubmitLine=SUBMIT, User="zebulon", Account="planted-account")
    .job(3, "n3", at(1), at(2), f"EXPLODED_TOKEN={WORD}", JobName=NAME, SubmitLine=SUBMIT)
    .job(4, "n3", at(1), at(2), JobName=f"{NAME}|one|field|too|many", SubmitLine=f"{SUBMIT}|{SPOILED}")
    .job(5, "n3", at(3), at(4), Start=f"TOKEN={WORD}", JobName=NAME, SubmitLine=SUBMIT)
    .job(6, "n3", at(3), at(4), NodeList=f"n[PASSWORD={WORD}", JobName=NAME)
    .check("n1", at(2 - MINUTE), "check_nvsmi", message=f"GPU lost: {SPOILED}")
    .check("n1", at(2 - MINUTE), f"check TOKEN={WORD}", message=SPOILED)
    .file("health/health_checks.jsonl", f'{{"normal": {{"node": "n1", "_msg": "{SPOILED}"')
    .check("stranger", at(2), "check_nvsmi", message=SPOILED)
    .kernel("n1", at(2 - MINUTE), f"NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=TOKEN={WORD}, {SPOILED}")
    .kernel("n1", at(2 - MINUTE), f"Out of memory: Killed process 12 (TOKEN={WORD}) total-vm:1kB {TOKEN}")
    .file("kernel/kern.log", f"2024-13-41T99:99:99+00:00 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, {SPOILED}")
    .kernel("stranger", at(2), f"NVRM: Xid (PCI:0000:3b:00): 79, {SPOILED}")
    .slurmctld(at(2), f"update_node: node n1 reason set to: PASSWORD={WORD} {TOKEN}")
    .slurmctld(at(2), "update_node: node n1 state set to DRAIN")
    .slurmctld(at(2), f"update_node: node n[1 reason set to: {SPOILED}")
    .event("n1", at(2), at(3), "DRAIN", f"TOKEN={WORD} {TOKEN}")
    .event("n1", at(5), at(4), "DRAIN", SPOILED)
    .file("events/events.psv", f"c|n1|yesterday|{SPOILED}|DRAIN|{SPOILED}|root(0)")
    .file(
        "tickets/tickets.csv",
        "ticket_id,node,opened,closed,component,action,status,summary",
        f'T1,n1,2024-05-01T02:00,2024-05-01T03:00,GPU PASSWORD={WORD},use {TOKEN},open TOKEN={WORD},password is {WORD}',
        f'T2,n1,when TOKEN={WORD},,GPU,"{SPOILED}",open,"{SPOILED}"',
    )
    .file("squeue/squeue.psv", "JOBID|EXC_NODES", f"7|n[{SPOILED}"),
}  # fmt: skip


def found(con: duckdb.DuckDBPyConnection, words: tuple[str, ...]) -> dict[str, str]:
    """Return the text columns that contain one of the words, each with one value."""
    columns = con.execute(
        """
        select database_name, schema_name, table_name, column_name from duckdb_columns()
        where not internal and (data_type like 'VARCHAR%' or data_type like '%JSON%' or data_type like 'STRUCT%')
        """
    ).fetchall()
    leaks = {}
    for database, schema, table, column in columns:
        place = f'"{database}"."{schema}"."{table}"'
        row = con.execute(
            f'select "{column}"::varchar from {place} '
            f'where list_bool_or([contains("{column}"::varchar, word) for word in $words]) limit 1',
            {"words": list(words)},
        ).fetchone()
        if row:
            leaks[f"{schema}.{table}.{column}"] = row[0]
    return leaks


def test_the_logs_are_read_and_have_bad_lines(minimal):
    kinds = minimal.execute(
        "select kind, sum(loaded), sum(quarantined) from ops.files where cluster_id = 'secrets' group by 1 order by 1"
    ).fetchall()
    read = {kind: (loaded, quarantined) for kind, loaded, quarantined in kinds}
    assert all(
        read[kind][0] > 0 for kind in ("sacct", "health", "kernel", "slurmctld", "events", "tickets", "inventory")
    )
    assert all(read[kind][1] > 0 for kind in ("sacct", "health", "kernel", "slurmctld", "events", "tickets", "squeue"))
    masked = minimal.execute(
        "select count(*) from ops.quarantine where cluster_id = 'secrets' and contains(raw, '***')"
    ).fetchone()
    assert masked[0] >= 8


def test_no_published_text_holds_a_secret(minimal):
    assert found(minimal, ("alice",))["marts.fct_attempts.user_name"] == "alice"
    assert found(minimal, PLANTED) == {}


def test_no_text_of_the_working_file_holds_a_secret(minimal_home):
    with duckdb.connect(str(minimal_home.working_file), read_only=True) as con:
        # estimates read views of marts
        con.execute(f"attach '{minimal_home.build_file}' as publication (read_only)")
        assert "raw.sacct.submit_line" in found(con, ("sbatch",))
        assert found(con, PLANTED) == {}


def test_the_report_holds_neither_secrets_nor_hidden_names(minimal_home):
    html = minimal_home.report.read_text(encoding="utf-8")
    for word in (*PLANTED, "zebulon", "planted-account"):
        assert word not in html


def test_the_names_of_jobs_and_what_they_exclude_stay_readable(minimal):
    (name,) = minimal.execute(
        "select job_name from marts.fct_attempts where cluster_id = 'secrets' and job_id = '1'"
    ).fetchone()
    assert name == "train-TOKEN=***"
    assert minimal.execute(
        "select distinct node_id from marts.fct_job_exclusions where cluster_id = 'secrets'"
    ).fetchall() == [("n4",)]


def test_neither_the_logs_of_dbt_nor_the_history_of_dagster_hold_a_secret(minimal_home):
    histories = [path for path in minimal_home.dagster.rglob("*") if path.is_file()]
    assert histories
    logs = [path for path in minimal_home.work.rglob("*") if path.is_file() and {"logs", "target"} & {*path.parts}]
    for path in (*histories, *logs):
        content = path.read_bytes()
        assert not any(word.encode() in content for word in PLANTED), path
