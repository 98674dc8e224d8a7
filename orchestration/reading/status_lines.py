"""The state of a home in lines for people."""

from __future__ import annotations

from typing import Any

from orchestration.terminal import say_lines


def print_status(found: dict[str, Any]) -> None:
    """Print the state for people."""
    say_lines(lines_of(found))


def lines_of(found: dict[str, Any]) -> list[str]:
    """Put the state into lines."""
    lines = []
    if running := found["running"]:
        lines.append(f"refresh    running (process {running['process']})")
    lines += _published_lines(found)
    if run := found["last_run"]:
        lines.append(f"last run   {run['status']}, started {_moment(run['started_at'])}, run {run['run_id']}")
        lines.extend(f"           {line}" for line in (run["message"] or "").splitlines())
        if run["status"] == "failed":
            stays = "what is published stays as it was; " if found["published"] else ""
            lines.append(f"           {stays}mend what is named, if anything is, then run `faultline refresh`")
    if files := found["files"]:
        lines.append(
            f"input      {files['file_count']:,} files; {files['lines_in']:,} lines = {files['loaded']:,} loaded"
            f" + {files['skipped']:,} skipped + {files['quarantined']:,} quarantined"
        )
        if files["refused_count"]:
            lines.append(f"           {files['refused_count']:,} files are not read; `faultline doctor` says why")
        if files["vanished_count"]:
            lines.append(
                f"           {files['vanished_count']:,} files are gone from the sources folder; what they told stays"
                " until `faultline forget`"
            )
    if checks := found["checks"]:
        lines.append(
            f"checks     {checks['passed']:,} passed, {checks['failed']:,} failed, {checks['warned']:,} warnings"
        )
    lines += _cluster_lines(found)
    for kept in found["publications"]:
        seen = ", what readers see" if kept["is_current"] else ""
        moment = f"of {_moment(kept['published_at'])}, " if kept["published_at"] else ""
        lines.append(f"kept       publication {kept['number']} {moment}run {kept['run_id']}{seen}")
    return lines


def _cluster_lines(found: dict[str, Any]) -> list[str]:
    """Say how fresh each cluster is, and of each that could not be built why."""
    lines = []
    for cluster in found.get("clusters", []):
        name = f"{cluster['cluster_id']}{' (simulated)' if cluster['is_simulated'] else ''}"
        fresh = (
            f"newest end {_moment(cluster['newest_at'])} ({_age(cluster['age_hours'])})"
            if cluster["newest_at"]
            else "empty"
        )
        lines.append(f"cluster    {name}: {cluster['record_count']:,} accounting records, {fresh}")
        if cluster["is_stale"]:
            lines.append(
                f"           STALE: its numbers are of {_moment(cluster['built_at'])}; newer ones could not be built:"
            )
            lines.extend(f"           {line}" for line in cluster["stale_reason"].splitlines())
    for cluster in found.get("clusters_without_numbers", []):
        lines.append(f"cluster    {cluster['cluster_id']}: WITHOUT NUMBERS, it could not be built:")
        lines.extend(f"           {line}" for line in cluster["reason"].splitlines())
    return lines


def _published_lines(found: dict[str, Any]) -> list[str]:
    publication = found["published"]
    if not publication:
        return ["published  nothing yet"]
    if publication["problem"]:
        first = f"published  damaged: {publication['problem']}"
    else:
        first = (
            f"published  {_moment(publication['published_at'])} ({_age(publication['age_hours'])}), "
            f"run {publication['run_id']}, code {publication['code_version']}"
        )
    lines = [first, f"           {publication['file']}"]
    if found["pinned"]:
        lines.append(
            f"           pinned by `faultline rollback` to publication {found['pinned']}, until new logs come or"
            " `faultline refresh --full` is run"
        )
    return lines


def _moment(text: str) -> str:
    """Shorten ISO 8601 to the minute."""
    return f"{text[:16].replace('T', ' ')} UTC"


def _age(hours: float) -> str:
    if hours < -0.1:
        return f"{_span(-hours)} ahead of this machine's clock"
    return f"{_span(max(hours, 0))} ago"


def _span(hours: float) -> str:
    if hours < 2:
        return f"{hours * 60:.0f} min"
    return f"{hours:.0f} hours" if hours < 48 else f"{hours / 24:.0f} days"
