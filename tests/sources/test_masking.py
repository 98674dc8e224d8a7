"""Secrets in free text: what is masked, what is not, and that Python and DuckDB agree."""

import time

import duckdb
import pytest

from assets.sources.errors import SourceError
from assets.sources.kernel import reader as kernel
from assets.sources.reader import ReadingPlan
from assets.sources.text.masking import excerpt, mask, masked
from tests.logs import export
from tests.sources.folders import load, make

SECRETS = {
    "sbatch --export=ALL,API=hunter2,B=x train.sh": ["hunter2"],
    "sbatch --export ALL,API=hunter2 -N2 train.sh": ["hunter2"],
    "sbatch --export=P=two secret words --nodes=2 a.sh": ["two secret", "words"],
    "1|sbatch --export=A=hunter2|COMPLETED|node001": ["hunter2"],
    "HF_TOKEN=hunter2 python train.py": ["hunter2"],
    "WANDB_API_KEY='hunter 2' python x": ["hunter 2"],
    "srun env DB_PASSWORD=hunter2;ls": ["hunter2"],
    "env MYSQL_PWD=hunter2 mysql": ["hunter2"],
    "SSH_KEY=hunter2 CLIENT_AUTH=swordfish": ["hunter2", "swordfish"],
    "aws_secret_access_key = hunter2": ["hunter2"],
    '{"password": "hunter2", "apiKey": "swordfish"}': ["hunter2", "swordfish"],
    '{"m": "{\\"token\\": \\"hunter2\\"}"}': ["hunter2"],
    "python train.py --password hunter2 --hf-token swordfish": ["hunter2", "swordfish"],
    "sshpass -p hunter2 ssh x; curl -u me:swordfish https://x": ["hunter2", "swordfish"],
    "the password is hunter2, says the vendor": ["hunter2"],
    "Authorization: Basic aHVudGVyMg==": ["aHVudGVyMg"],
    "curl -H 'authorization: token hunter2'": ["hunter2"],
    "got Bearer hunter2.hunter2": ["hunter2"],
    "git clone https://me:hunter2@example.com/a.git": ["hunter2", "me:"],
    "git clone https://hunter2@example.com/a.git": ["hunter2"],
    "AKIAIOSFODNN7EXAMPLE used": ["AKIAIOSFODNN7EXAMPLE"],
    "a key q8Zr2Lm/Xk4TbVn9Pw3Hs7Jd+Ye5Rc1Gu6Fa0BQo": ["q8Zr2Lm", "Fa0BQo"],
    "ghp_abcdefghij0123456789abcdefghij012345": ["ghp_"],
    "train-hf_abcdefghijABCDEFGHIJklmnopqrst": ["hf_"],
    "sk-abcdefghij0123456789 xoxb-1234567890-abc": ["sk-abc", "xoxb"],
    "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def": ["eyJ"],
    "run-0123456789abcdef0123456789abcdef01234567": ["0123456789abcdef"],
    "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U=": ["c2Vjcm"],
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY----- x": ["b3Blbn"],
    "-----BEGIN PRIVATE KEY-----\\nMIIEvgIBADANBg": ["MIIEvg"],
}
HARMLESS = [
    "sbatch --nodes=4 --exclude=gpu[001-002],gpu9 -x gpu010 train.sh",
    "sbatch --export=ALL train.sh --config /fsx/users/alice/projects/Llama3/pretrain_long_context_v2.yaml",
    "llama3-70b-pretrain_seq8192_lr3e-4_bs1024_warmup2000_v2_final",
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.",
    "mlx5_core 0000:86:00.0: Port module event[error]: module 0, Cable error, Bus stuck",
    "error: Munge decode failed: Expired credential",
    "sbatch train.sh --tokenizer llama --keys 3 author=me",
    "Kill task failed; monkey patch; bypass=1",
    "GPU-8f7a1b2c-9d3e-4f5a-b6c7-d8e9f0a1b2c3 lost",
    "user@node001 https://example.com/a/b?c=d",
]


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as con:
        yield con


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_masked(text, con):
    (in_sql,) = con.execute(f"select {masked('text')} from (select $1 as text)", [text]).fetchone()
    assert mask(text) == in_sql
    assert not [secret for secret in SECRETS[text] if secret in in_sql], in_sql
    assert "***" in in_sql
    assert mask(in_sql) == in_sql


@pytest.mark.parametrize("text", HARMLESS)
def test_the_rest_stays(text, con):
    assert mask(text) == text
    assert con.execute(f"select {masked('text')} from (select $1 as text)", [text]).fetchone() == (text,)


KERNEL_LINE = "2024-05-01T01:00:00+00:00 node001 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n"


def cut(con, line, detail=None):
    return con.execute(
        f"select {excerpt('line', 'detail')} from (select $1 as line, $2 as detail)", [line, detail]
    ).fetchone()[0]


def test_a_short_line_is_shown_whole_and_masked(con):
    assert cut(con, "1|EXPLODED|TOKEN=hunter2") == "1|EXPLODED|TOKEN=***"
    assert cut(con, None) == ""


def test_half_a_secret_at_a_limit_is_not_shown(con):
    line = "x " * 4090 + "'Q' hf_abcdefghijABCDEFGHIJklmnopqrst"
    assert "hf_" not in cut(con, line, "State 'Q' is no state")


def test_an_error_that_quotes_a_value_is_masked(tmp_path, monkeypatch):
    make(tmp_path, {"c1/sacct/a.txt": export([{}]), "c1/kernel/kern.log": KERNEL_LINE})
    plan = ReadingPlan(["select 'TOKEN=hunter2'::integer"], loaded="", skipped="", quarantined="")
    monkeypatch.setattr(kernel, "plan_reading", lambda batch: plan)
    con = load(tmp_path, readers={"kernel": kernel})
    (row,) = con.execute("select columns(*)::varchar from ops.files").fetchall()
    assert "TOKEN=***" in str(row)
    assert "hunter2" not in str(row)


def test_a_refusal_that_quotes_a_line_is_masked():
    error = SourceError("c/sacct/a", "no header; the first line is 'TOKEN=hunter2'", "Export it.")
    assert "hunter2" not in f"{error} {error.what}"


def test_a_word_without_end_takes_no_time_without_end():
    started = time.process_time()
    assert mask(f"found {'x' * 100_000} there") == "found *** there"
    assert time.process_time() - started < 5
