"""Is there anything to do? Compares the sources folder and the code with what the published file was made from.

A log file whose size and modification time are those of the publication counts as unchanged; otherwise its hash
decides, and the time as well where rows can tell it. A folder with something wrong in it is never up to date: the
refresh itself will say what is wrong.
"""

from __future__ import annotations

import duckdb

from assets.sources.errors import SourceErrors
from assets.sources.folder import is_as_it_was, survey
from assets.sources.formats import READERS
from assets.sources.loading import known_files
from orchestration.home import Home, code_version
from orchestration.publication_folders import newest_publication, pinned_publication


def is_up_to_date(home: Home) -> bool:
    """Tell whether a refresh would publish what is already published.

    After a rollback only new input counts, and it is new if the publication that was rolled back has not seen it.
    """
    if not (home.published_file.exists() and home.report.exists()):
        return False
    newest = newest_publication(home)
    is_pinned = pinned_publication(home) is not None
    with duckdb.connect(str(newest.file if newest else home.published_file), read_only=True) as con:
        published = con.execute("select code_version from ops.published order by rowid desc limit 1").fetchone()
        if published is None or (published[0] != code_version() and not is_pinned):
            return False
        known = known_files(con)
        configured = dict(con.execute("select cluster_id, config_sha256 from raw.clusters").fetchall())
    try:
        found = survey(home.sources, READERS, known)
    except SourceErrors:
        return False
    if {name: cluster.config_sha256 for name, cluster in found.clusters.items()} != configured:
        return False
    files = {file.key: file for file in found.files}
    return files.keys() == known.keys() and all(
        is_as_it_was(file, known[key], READERS[file.kind]) for key, file in files.items()
    )
