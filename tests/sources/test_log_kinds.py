"""What is advised for a kind of logs: how to export it, where a file is refused or missing."""

import pytest

from assets.log_kinds import LOG_KINDS, WARNINGS, missing, parts_of
from assets.sources.errors import SourceError
from assets.sources.formats import READERS
from assets.sources.settings import KINDS
from tests.sources.batches import cluster_of


def test_every_folder_with_a_meaning_has_its_entry():
    assert set(LOG_KINDS) == set(KINDS)


# Any CSV may be tickets or failures with other columns, so what is advised there is to name the columns.
@pytest.mark.parametrize("folder", [folder for folder in LOG_KINDS if folder not in {"tickets", "failures"}])
def test_a_refused_file_comes_with_the_export_command(folder):
    with pytest.raises(SourceError) as refusal:
        READERS[folder].detect("sacct: error: no line that is read\n" * 3, f"c1/{folder}/file.txt", cluster_of("UTC"))
    assert LOG_KINDS[folder].export in refusal.value.next_step


def test_commands_take_the_folders_they_are_given():
    _, command, _ = parts_of(missing("events").step, "/logs/START c1", "2026-11-01")
    assert "start=2026-11-01" in command
    assert command.endswith("> '/logs/START c1'/events/events.$(date +%F).psv")
    assert LOG_KINDS["kernel"].export_to("/logs/c1/kernel", "2026-11-01").startswith("on every node: journalctl")
    assert "--since=2026-11-01 > /logs/c1/kernel/" in LOG_KINDS["kernel"].export_to("/logs/c1/kernel", "2026-11-01")
    assert "FOLDER/sacct/sacct." in WARNINGS["truncated_window"].command
