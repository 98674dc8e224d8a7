"""The answer of `faultline plan` as one page to send: the words of the terminal, in the report's dress."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

from assets.report.blocks import Tile
from assets.report.filling import TEMPLATES, environment
from assets.report.numbers import chance, confidence, duration, moment, whole
from assets.report.wording import hours_span, span
from orchestration.read_commands.plan_lines import count_of, parts_of, plural_days, ratio


def plan_page(answer: dict[str, Any]) -> str:
    """Write the page; it loads nothing, and runs no script."""
    template = (Path(__file__).parent / "plan_page.html.j2").read_text(encoding="utf-8")
    return (
        environment()
        .from_string(template)
        .render(
            parts=parts_of(answer),
            tiles=_tiles(answer),
            is_simulated=bool(answer["is_simulated"]),
            made_at=moment(dt.datetime.now(dt.UTC)),
            styles=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
        )
    )


def _tiles(a: dict[str, Any]) -> list[Tile]:
    """Give the numbers that a reader asks for first."""
    sure, best, expected = (
        confidence(a["confidence_level"]),
        a["checkpoint_minutes_optimal"],
        a["expected_interruptions"],
    )
    of_rate = hours_span(a["mttf_hours_low"], a["mttf_hours_high"])
    said = (
        (
            "ETTR with the best interval",
            ratio(a["ettr_optimal"]),
            f"{span(a['ettr_run_low'], a['ettr_run_high'], ratio)} in a single run ({sure})",
        ),
        (f"ETTR of {a['ettr_target']:g} or more", chance(a["probability_ettr_ge_target"]), "probability"),
        ("Checkpoint every", duration(best / 60) if best else "unknown" if best is None else "as you like", ""),
        (
            f"Interruptions in {plural_days(a['planned_days'])}",
            "unknown" if expected is None else count_of(expected),
            f"{whole(a['expected_interruptions_low'])} to {whole(a['expected_interruptions_high'])} in a single run "
            f"({sure})",
        ),
        (
            "Time between interruptions",
            duration(a["mttf_hours"]),
            "at a rate taken as known" if a["rate_source"] == "given" else f"{of_rate} ({sure})",
        ),
    )
    return [Tile(label, value, details=(detail,)) for label, value, detail in said]
