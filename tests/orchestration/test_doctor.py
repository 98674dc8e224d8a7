"""`faultline doctor`: its findings, and the next step that each of them names."""

import errno
import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import duckdb
import pytest

from assets.sql import literal
from orchestration.doctor import warehouse as doctor_warehouse
from orchestration.doctor.doctor import doctor, show_doctor
from orchestration.doctor.sources import sources_findings
from orchestration.publication.folders import remove_leftovers
from orchestration.read_commands.published import ReadingError
from orchestration.settings.home import Home
from tests.homes import change


@pytest.fixture
def home(small_home):
    return small_home


class TestDoctor:
    @pytest.fixture
    def findings(self, home):
        return lambda: {finding.where: finding for finding in doctor(home)}

    def test_a_missing_kind_says_what_it_hides_and_how_to_export_it(self, home, findings):
        found = findings()["alpha/events"]
        assert found.level == "warning"
        assert "When nodes were out of service" in found.what
        assert "sacctmgr -P show event" in found.next_step
        assert str(home.sources / "alpha" / "events") in found.next_step

    def test_a_missing_sources_folder_is_an_error(self, tmp_path):
        (first, *_) = doctor(Home.at(tmp_path / "none"))
        assert first.level == "error"
        assert re.search(r"sacct -a -D -X -P .* -S \$\(date -d '90 days ago' \+%F\) ", first.next_step)

    def test_a_cluster_without_accounting_is_an_error(self, home, findings):
        (home.sources / "gamma").mkdir()
        assert findings()["gamma/sacct"].level == "error"

    def test_beside_records_of_failures_alone_no_log_is_asked_for_but_accounting(self, tmp_path):
        def found(settings):
            (tmp_path / "gamma" / "cluster.toml").write_text(f'timezone = "UTC"\n{settings}')
            return {finding.where: finding.level for finding in sources_findings(tmp_path)}

        (tmp_path / "gamma" / "failures").mkdir(parents=True)
        (tmp_path / "gamma" / "failures" / "list.csv").write_text("node,from\nn1,2024-05-02\n")
        assert found("") == {"gamma/cluster.toml": "warning", "gamma/sacct": "warning"}
        in_service = "[[failures.in_service]]\nunits = 4\nfrom = 2024-05-01\nto = 2024-06-01\n"
        assert found(in_service) == {"gamma/sacct": "warning"}

    def test_settings_are_checked(self, home, findings):
        (home.sources / "alpha" / "cluster.toml").write_text('timezone = "Mars/Olympus"\n')
        found = findings()["alpha/cluster.toml"]
        assert (found.level, "Mars/Olympus" in found.what) == ("error", True)

    def test_what_no_rule_knows_comes_with_lines_to_paste(self, home, findings):
        found = findings()["alpha"]
        assert found.level == "warning"
        assert "no rule knows" in found.what
        assert set(tomllib.loads("\n".join(found.paste))) <= {"health", "node_reasons", "xids"}
        (home.sources / "alpha" / "cluster.toml").write_text("\n".join(found.paste))
        assert "alpha/cluster.toml" not in {where for where, finding in findings().items() if finding.level == "error"}

    def test_lines_to_paste_are_printed_where_they_are_asked_for(self, home, findings, capsys):
        found = findings()["alpha"]
        show_doctor(home)
        assert "next: `faultline doctor alpha --rules` prints the lines to paste" in capsys.readouterr().out
        show_doctor(home, shows_rules=True)
        out = capsys.readouterr().out
        assert found.next_step in " ".join(out.split())
        assert "\n".join(found.paste) in out
        show_doctor(home, as_json=True)
        assert list(found.paste) in [finding.get("paste") for finding in json.loads(capsys.readouterr().out)]

    def test_of_one_cluster_nothing_is_told_that_concerns_another_alone(self, home, capsys):
        change(home, "update ops.runs set status = 'failed', message = 'no space is left'")
        assert not show_doctor(home, "alpha", as_json=True)
        places = {finding["where"].partition("/")[0] for finding in json.loads(capsys.readouterr().out)}
        assert places == {"alpha", ""}
        with pytest.raises(ReadingError, match="there is no cluster 'alpa'; `faultline status` names the clusters"):
            show_doctor(home, "alpa")

    def test_of_a_cluster_whose_folder_is_gone_only_that_is_to_be_mended(self, home, findings):
        shutil.rmtree(home.sources / "alpha")
        found = findings()["alpha"]
        assert found.what == "its folder is gone from the sources folder"
        assert "`faultline refresh --forget alpha` lists" in found.next_step
        assert not [finding for finding in doctor(home) if finding.paste]

    def test_the_default_timezone_is_a_warning(self, home, findings):
        (home.sources / "alpha" / "cluster.toml").unlink()
        assert "read as UTC" in findings()["alpha/cluster.toml"].what

    def test_empty_files_and_unknown_folders_are_named(self, home, findings):
        (home.sources / "alpha" / "sacct" / "empty.psv").touch()
        (home.sources / "alpha" / "syslogs").mkdir()
        found = findings()
        assert found["alpha/sacct/empty.psv"].level == "error"
        assert found["alpha/sacct/empty.psv"].next_step.startswith("export it again: SLURM_TIME_FORMAT=%s sacct -a -D")
        assert "kernel" in found["alpha/syslogs"].next_step

    def test_what_is_no_regular_file_is_told_as_the_refresh_tells_it(self, home, findings):
        folder = home.sources / "alpha" / "sacct"
        os.mkfifo(folder / "pipe.psv")
        (folder / "loop.psv").symlink_to("loop.psv")
        (folder / "nowhere.psv").symlink_to("gone.psv")
        found = findings()
        assert "named pipe" in found["alpha/sacct/pipe.psv"].what
        assert "leads back to itself" in found["alpha/sacct/loop.psv"].next_step
        assert "leads nowhere" in found["alpha/sacct/nowhere.psv"].next_step

    def test_logs_behind_a_link_to_a_folder_are_found(self, home, findings, tmp_path):
        elsewhere = tmp_path / "archive" / "events"
        elsewhere.mkdir(parents=True)
        (elsewhere / "events.psv").write_text("x")
        (home.sources / "alpha" / "events").mkdir(exist_ok=True)
        (home.sources / "alpha" / "events" / "archive").symlink_to(elsewhere)
        assert "alpha/events" not in findings()

    def test_a_link_to_nowhere_is_told_where_logs_belong(self, home, findings):
        (home.sources / "alpha" / "events").symlink_to("/nonexistent/events")
        (home.sources / "gamma").symlink_to("/nonexistent/gamma")
        (home.sources / "alpha" / "kern.log").write_text("x")
        found = findings()
        assert "leads nowhere" in found["alpha/events"].next_step
        assert found["gamma"].level == "error"
        assert found["alpha/kern.log"].what.startswith("not read")

    def test_a_cluster_that_cannot_be_listed_is_an_error(self, home, monkeypatch):
        closed = home.sources / "alpha"
        list_folder = Path.iterdir

        def refuse(path):
            if path == closed:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return list_folder(path)

        monkeypatch.setattr(Path, "iterdir", refuse)
        assert ("error", "alpha") in {(finding.level, finding.where) for finding in doctor(home)}

    def test_a_shell_finds_nothing_to_run_in_the_names_of_advised_commands(self, home, findings):
        cluster = home.sources / "x'$(touch owned);y"
        (cluster / "sacct").mkdir(parents=True)
        (cluster / "sacct" / "a';touch owned;'.psv").touch()
        found = findings()
        assert shlex.quote(str(cluster / "kernel")) in found[f"{cluster.name}/kernel"].next_step
        empty = cluster / "sacct" / "a';touch owned;'.psv"
        assert found[f"{cluster.name}/sacct/{empty.name}"].next_step.endswith(f"rm {shlex.quote(str(empty))}")

    def test_an_export_without_duplicates_is_told(self, home, findings):
        change(home, "update ops.files set warnings = ['exported_without_duplicates'] where path like 'beta/%'")
        found = findings()["beta/sacct/all.psv"]
        assert "without --duplicates" in found.what
        assert "sacct -a -D" in found.next_step

    def test_rows_of_another_cluster_are_told_with_both_names_and_the_line_to_add(self, home, findings):
        warning = "other_cluster: rows say ''gpu 7'', the folder is ''beta''"
        change(home, f"update ops.files set warnings = ['{warning}'] where path like 'beta/%'")
        found = findings()["beta/sacct/all.psv"]
        assert found.what.startswith("Records of another cluster, rows say 'gpu 7', the folder is 'beta'")
        assert 'put slurm_cluster = "gpu 7" at the top of cluster.toml, or rename the folder' in found.next_step

    def test_a_warning_that_names_nodes_is_told_with_them(self, home, findings):
        change(home, "update ops.files set warnings = ['unknown_excluded_nodes: 1 (gpu9)'] where path like 'beta/%'")
        found = findings()["beta/sacct/all.psv"]
        assert found.what.startswith("Excluded nodes that are unknown, 1 (gpu9): Submit lines exclude")
        assert "inventory" in found.next_step

    def test_a_stale_cluster_is_told_with_the_time_and_the_reason(self, home):
        assert not [finding for finding in doctor(home) if finding.what.startswith("stale")]
        change(
            home,
            "update marts.dim_clusters set is_stale = true, stale_reason = 'the folder is gone', "
            "built_at = timestamp '2026-01-02 02:10' where cluster_id = 'alpha'",
        )
        (found,) = [finding for finding in doctor(home) if finding.what.startswith("stale")]
        assert (found.where, found.level) == ("alpha", "error")
        assert found.what == "stale, as of 2026-01-02 02:10 UTC. Newer numbers could not be built: the folder is gone"

    def test_a_file_that_makes_its_cluster_stale_is_told_once(self, home):
        change(
            home,
            "insert into ops.files by name select * replace ('alpha/sacct/bad.psv' as path, 'refused' as status, "
            "'it is cut' as reason) from ops.files where path = 'alpha/sacct/all.psv'",
            "update marts.dim_clusters set is_stale = true, stale_reason = 'alpha/sacct/bad.psv: it is cut', "
            "built_at = timestamp '2026-01-02 02:10' where cluster_id = 'alpha'",
        )
        assert [finding.where for finding in doctor(home) if "it is cut" in finding.what] == ["alpha"]

    def test_quarantined_lines_are_told(self, findings):
        found = findings()["alpha/sacct/all.psv"]
        assert "1 line was not understood, mostly unknown_state, the first is line 12" in found.what
        assert "ops.quarantine" in found.next_step

    def test_a_log_of_a_part_of_the_study_period_is_told(self, home, findings):
        with duckdb.connect(str(home.published_file)) as con:
            study = con.execute(
                "select study_from_at, study_to_at from marts.dim_clusters where cluster_id = 'beta'"
            ).fetchone()
            first, last = study
            con.execute("delete from ops.spans where kind != 'sacct'")
            con.executemany(
                "insert into ops.spans values ('beta', ?, ?, ?, 'log')",
                [
                    ("slurmctld", first, first + (last - first) / 4),
                    ("events", first, first + (last - first) / 4),
                    ("health", first, last),
                ],
            )
        found = findings()
        assert "covers 25.0% of the study period" in found["beta/slurmctld"].what
        assert "cp /var/log/slurm/slurmctld.log*" in found["beta/slurmctld"].next_step
        assert "beta/events" not in found  # between outages they say nothing
        assert "beta/health" not in found

    def test_a_wrong_size_of_nodes_is_told_where_no_inventory_tells_it(self, home):
        def gpu_findings():
            return [finding for finding in doctor(home) if "GPUs on a node" in finding.what]

        change(
            home,
            "update marts.dim_clusters set gpus_per_node = 8",
            "update marts.dim_nodes set gpu_count_source = 'inventory' where cluster_id = 'alpha'",
        )
        assert gpu_findings() == []
        change(home, "update marts.fct_attempts set gpu_count = 4 * node_count")
        (found,) = gpu_findings()
        assert (found.level, found.where) == ("warning", "beta/inventory")
        assert found.what.startswith("jobs had at most 4 GPUs on a node, which is taken to have 8")
        assert "scontrol -o show node" in found.next_step and "`gpus_per_node`" in found.next_step

    def test_more_gpus_than_the_nodes_have_are_told(self, home):
        def gpu_findings():
            return [finding for finding in doctor(home) if "more GPUs than the nodes have" in finding.what]

        assert gpu_findings() == []
        with duckdb.connect(str(home.published_file)) as con:
            con.execute(
                "update marts.fct_attempts set gpu_count_source = 'refuted', source_path = 'beta/sacct/a.txt', "
                "source_line_number = 7 where cluster_id = 'beta'"
            )
            ((count,),) = con.execute("select count(*) from marts.fct_attempts where cluster_id = 'beta'").fetchall()
        (found,) = gpu_findings()
        assert (found.level, found.where) == ("warning", "beta")
        assert found.what.startswith(
            f"{count} attempts with more GPUs than the nodes have, such as beta/sacct/a.txt, line 7"
        )
        assert "gpu_count_source = 'refuted'" in found.next_step

    def test_accounting_with_a_gap_is_told_with_a_command_that_can_be_run(self, home):
        with duckdb.connect(str(home.published_file)) as con:
            first, last = con.execute(
                "select study_from_at, study_to_at from marts.dim_clusters where cluster_id = 'beta'"
            ).fetchone()
            con.execute("delete from ops.spans where cluster_id = 'beta'")
            part = (last - first) / 4
            con.executemany(
                "insert into ops.spans values ('beta', 'sacct', ?, ?, 'log')",
                [(first, first + part), (last - part, last)],
            )
        (found,) = [finding for finding in doctor(home) if finding.where == "beta/sacct" and "covers" in finding.what]
        assert "covers 50.0% of the study period" in found.what
        assert f" -S {first:%Y-%m-%d} " in found.next_step and "FOLDER" not in found.next_step

    def test_old_data_is_told_except_for_simulated_clusters(self, home, findings):
        change(home, "update raw.clusters set is_simulated = true where cluster_id = 'beta'")
        found = findings()
        assert "2026-01-01" in found["alpha/sacct"].what
        assert "beta/sacct" not in found

    def test_data_are_as_new_as_the_export_that_shows_a_job_running(self, home, findings):
        change(home, "update marts.dim_clusters set data_through_at = now()::timestamp where cluster_id = 'alpha'")
        assert "its newest record" not in getattr(findings().get("alpha/sacct"), "what", "")

    def test_a_full_disk_is_told(self, home, findings, monkeypatch):
        monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1 << 20})())
        assert findings()[str(home.root)].level == "warning"

    def test_what_a_killed_refresh_left_is_told(self, home, findings):
        left = home.published_file.parent / ".faultline.duckdb.123.tmp"
        left.write_bytes(b"half")
        assert findings()[str(left)].next_step == "`faultline refresh` removes it"
        remove_leftovers(home)
        assert not left.exists()

    def test_a_failed_run_is_an_error(self, home, capsys):
        change(home, "update ops.runs set status = 'failed', message = 'no space is left'")
        assert not show_doctor(home)
        assert "no space is left" in capsys.readouterr().out

    def test_json(self, home, capsys):
        assert show_doctor(home, as_json=True)
        findings = json.loads(capsys.readouterr().out)
        assert {"level", "what", "where", "next_step"} == set(findings[0])


@pytest.mark.parametrize(
    "name", ["plain.psv", "it's.psv", "$(touch proof).psv", '"; touch proof; ".psv', "`touch proof`"]
)
def test_a_command_with_an_odd_file_name_asks_and_does_nothing_else(name, tmp_path):
    sql = f"select warnings from ops.files where path = {literal(name)}"
    shown = doctor_warehouse._query(sql)
    shell = subprocess.run(
        ["bash", "-c", f'faultline() {{ printf %s "$2"; }}; {shown}'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shell.stdout == sql
    assert list(tmp_path.iterdir()) == []
