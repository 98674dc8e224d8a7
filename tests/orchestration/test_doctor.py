"""`faultline doctor`: its findings, and the next step that each of them names."""

import json
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from assets.sql import literal
from orchestration.doctor import warehouse as doctor_warehouse
from orchestration.doctor.doctor import doctor, show_doctor
from orchestration.read_commands.published import ReadingError
from orchestration.settings.home import Home
from tests.homes import change

STALE = (
    "update marts.dim_clusters set is_stale = true, stale_reason = 'alpha/sacct/bad.psv: it is cut', "
    "built_at = timestamp '2026-01-02 02:10' where cluster_id = 'alpha'"
)
SPAN = (
    "insert into ops.spans select cluster_id, '{kind}', study_from_at + {start} * (study_to_at - study_from_at) / 4, "
    "study_from_at + {end} * (study_to_at - study_from_at) / 4, 'log' from marts.dim_clusters where cluster_id = 'beta'"
)
WARNING = "update ops.files set warnings = ['{}'] where path like 'beta/%'"
NO_SPANS = "delete from ops.spans where cluster_id = 'beta'"


def put(home, *done):
    """Execute statements on the published file, and write pairs of a path in the sources and its content."""
    for step in done:
        if isinstance(step, str):
            change(home, step)
            continue
        place, content = home.sources / step[0], step[1]
        place.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            place.mkdir()
        elif isinstance(content, Path):
            place.symlink_to(content)
        else:
            place.write_text(content)


FOUND = [
    # Changes to a home; the level, place and words of the finding.
    ((), "warning", "alpha/events", "When nodes were out of service", "sacctmgr -P show event", "/alpha/events"),
    ((("gamma", None),), "error", "gamma/sacct"),
    ((("alpha/cluster.toml", 'timezone = "Mars/Olympus"\n'),), "error", "alpha/cluster.toml", "Mars/Olympus"),
    ((("alpha/cluster.toml", ""),), "warning", "alpha/cluster.toml", "read as UTC"),
    ((("alpha/sacct/empty.psv", ""),), "error", "alpha/sacct/empty.psv", "again: SLURM_TIME_FORMAT=%s sacct -a -D"),
    ((("alpha/syslogs", None),), "warning", "alpha/syslogs", "kernel"),
    ((("alpha/kern.log", "x"),), "warning", "alpha/kern.log", "not read"),
    ((("alpha/sacct/loop.psv", Path("loop.psv")),), "error", "alpha/sacct/loop.psv", "leads back to itself"),
    ((("alpha/sacct/lost.psv", Path("none")),), "error", "alpha/sacct/lost.psv", "leads nowhere"),
    ((("alpha/events", Path("/nonexistent")),), "warning", "alpha/events", "leads nowhere"),
    ((("gamma", Path("/nonexistent")),), "error", "gamma"),
    ((WARNING.format("exported_without_duplicates"),), "warning", "beta/sacct/all.psv", "--duplicates", "sacct -a -D"),
    ((WARNING.format("other_cluster: rows say ''gpu 7'', the folder is ''beta''"),), "warning", "beta/sacct/all.psv",
     "rows say 'gpu 7', the folder is 'beta'", "records of two clusters may be mixed", 'slurm_cluster = "gpu 7"'),
    ((WARNING.format("unknown_excluded_nodes: 1 (gpu9)"),), "warning", "beta/sacct/all.psv", "1 (gpu9)", "inventory"),
    ((), "warning", "alpha/sacct/all.psv", "1 line was not understood", "the first is line 12", "ops.quarantine"),
    ((STALE,), "error", "alpha", "as of 2026-01-02 02:10 UTC", "alpha/sacct/bad.psv: it is cut"),
    (("delete from ops.spans where kind != 'sacct'", SPAN.format(kind="slurmctld", start=0, end=1)), "warning",
     "beta/slurmctld", "covers 25.0% of the study period", "cp /var/log/slurm/slurmctld.log*"),
    ((NO_SPANS, *(SPAN.format(kind="sacct", start=start, end=start + 1) for start in (0, 3))), "warning", "beta/sacct",
     "covers 50.0% of the study period", "outside these times, jobs seen only in this log", " -S 2026-01-"),
    (("update marts.dim_clusters set gpus_per_node = 8",
      "update marts.dim_nodes set gpu_count_source = 'inventory' where cluster_id = 'alpha'",
      "update marts.fct_attempts set gpu_count = 4 * node_count"), "warning", "beta/inventory",
     "at most 4 GPUs on a node, and Faultline assumes 8 per node", "scontrol -o show node", "`gpus_per_node`"),
    (("update marts.fct_attempts set gpu_count_source = 'refuted', source_path = 'beta/sacct/a.txt', "
      "source_line_number = 7 where cluster_id = 'beta'",), "warning", "beta",
     "2 attempts with more GPUs than the nodes have", "beta/sacct/a.txt, line 7"),
    ((), "warning", "alpha/sacct", "2026-01-01"),
    (("update ops.runs set status = 'failed', message = 'no space is left'",), "error", "", "no space is left"),
]  # fmt: skip


@pytest.mark.parametrize(("done", "level", "where", "words"), [(*row[:3], row[3:]) for row in FOUND])
def test_what_is_wrong_is_told_with_its_place_and_the_next_step(small_home, done, level, where, words):
    put(small_home, *done)
    said = [(f.level, f"{f.what} {f.next_step}") for f in doctor(small_home) if where in ("", f.where)]
    assert [text for of, text in said if of == level and all(word in text for word in words)], said


@pytest.mark.parametrize(
    ("done", "where", "words"),
    [
        ((("alpha/events/archive", Path("../sacct")),), "alpha/events", ""),
        # node events have no entries between outages
        ((NO_SPANS, SPAN.format(kind="events", start=0, end=1)), "beta/events", "covers"),
        ((), "beta", "GPUs"),
        (("update raw.clusters set is_simulated = true where cluster_id = 'beta'",), "beta/sacct", ""),
        (("update marts.dim_clusters set data_through_at = now()::timestamp",), "alpha/sacct", "its newest record"),
        # the finding on the stale cluster names it
        ((STALE, "insert into ops.files by name select * replace ('alpha/sacct/bad.psv' as path, 'refused' as status, "
          "'it is cut' as reason) from ops.files where path = 'alpha/sacct/all.psv'"), "alpha/sacct/bad.psv", ""),
    ],
)  # fmt: skip
def test_what_is_in_order_is_not_told(small_home, done, where, words):
    put(small_home, *done)
    assert [finding for finding in doctor(small_home) if finding.where == where and words in finding.what] == []


def test_without_sources_the_first_finding_is_how_to_export_accounting(tmp_path):
    (first, *_) = doctor(Home.at(tmp_path / "none"))
    assert first.level == "error"
    assert "sacct -a -D -X -P" in first.next_step and "-S $(date -d '90 days ago' +%F) " in first.next_step


def test_what_no_rule_knows_comes_with_lines_that_are_good_settings(small_home, capsys):
    (found,) = [finding for finding in doctor(small_home) if finding.paste]
    assert (found.where, found.level) == ("alpha", "warning")
    assert set(tomllib.loads("\n".join(found.paste))) <= {"health", "node_reasons", "xids"}
    show_doctor(small_home, shows_rules=True)
    assert "\n".join(found.paste) in capsys.readouterr().out
    put(small_home, ("alpha/cluster.toml", "\n".join(found.paste)))
    assert not [each for each in doctor(small_home) if (each.level, each.where) == ("error", "alpha/cluster.toml")]
    shutil.rmtree(small_home.sources / "alpha")
    assert not [each for each in doctor(small_home) if each.paste], "its folder is missing, which comes first"
    (missing,) = [each for each in doctor(small_home) if each.where == "alpha"]
    assert "`faultline refresh --forget alpha`" in missing.next_step


def test_json_of_one_cluster_has_nothing_that_concerns_another_alone(small_home, capsys):
    assert show_doctor(small_home, as_json=True)
    assert {"level", "what", "where", "next_step"} == set(json.loads(capsys.readouterr().out)[0])
    change(small_home, "update ops.runs set status = 'failed', message = 'no space is left'")
    assert not show_doctor(small_home, "alpha", as_json=True)
    places = {finding["where"].partition("/")[0] for finding in json.loads(capsys.readouterr().out)}
    assert places == {"alpha", ""}
    with pytest.raises(ReadingError, match="`faultline status` names the clusters"):
        show_doctor(small_home, "alpa")


def test_a_shell_finds_nothing_to_run_in_the_names_of_advised_commands(small_home, tmp_path):
    cluster = small_home.sources / "x'$(touch owned);y"
    empty = cluster / "sacct" / "a';touch owned;'.psv"
    put(small_home, (empty, ""))
    found = {finding.where: finding for finding in doctor(small_home)}
    assert shlex.quote(str(cluster / "kernel")) in found[f"{cluster.name}/kernel"].next_step
    assert found[f"{cluster.name}/sacct/{empty.name}"].next_step.endswith(f"rm {shlex.quote(str(empty))}")
    for name in ("it's.psv", '"; touch proof; $(touch proof) `touch proof`.psv'):
        sql = f"select warnings from ops.files where path = {literal(name)}"
        command = f'faultline() {{ printf %s "$2"; }}; {doctor_warehouse._query(sql)}'
        shell = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert shell.stdout == sql
    assert not (tmp_path / "proof").exists()
