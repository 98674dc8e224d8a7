"""Change a published home: its tables, a cluster's settings, and when it was published."""

import json
from datetime import UTC, datetime, timedelta

from orchestration.publication.folders import publish
from tests.homes import change

END = datetime(2026, 3, 1)
"""End of the data of every cluster in the home."""


def write(home, sql, values=()):
    change(home, sql, values=list(values))


def cluster_file(home, text):
    file = home.sources / "alpha" / "cluster.toml"
    file.write_text(text)
    file.chmod(0o600)
    file.parent.chmod(0o700)
    return file


def old_publication(home, hours):
    report = home.working_reports / "latest"
    report.mkdir(parents=True)
    (report / "index.html").write_text("page")
    publication = publish(home, "run-2", "0.1.0+abc", home.published_file, report)
    file = publication.folder / "publication.json"
    written = json.loads(file.read_text())
    moment = datetime.now(UTC) - timedelta(hours=hours)
    file.write_text(json.dumps(written | {"published_at": moment.isoformat(timespec="seconds")}))
