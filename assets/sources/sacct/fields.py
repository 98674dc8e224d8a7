"""SQL that names the fields of a record: one text for each field that is read, NULL when empty.

Its sources give a record's fields by their place, `c1` and so on, NULL when empty.
"""

from __future__ import annotations

from assets.sources.sacct.columns import FIELDS, TEXTS
from assets.sources.sacct.layout import Layout
from assets.sql import literal


def places_of_list(layout: Layout) -> str:
    """Return SQL for the fields by their places, out of the list `f`."""
    return ", ".join(f"nullif(f[{place}], '') as c{place}" for place in range(1, len(layout.columns) + 1))


def field_expression(layout: Layout, name: str) -> str:
    """Return SQL for a column's text; NULL when it is empty or not exported."""
    places = layout.places(name)
    if not places:
        return "null::varchar"
    values = ", ".join(f"c{place}" for place in places)
    return values if len(places) == 1 else f"coalesce({values})"


def conflict_expression(layout: Layout) -> str:
    """Return SQL that is true when a column printed twice says two things."""
    tests = [
        f"coalesce(c{first} <> c{second}, false)"
        for name in FIELDS
        for first, second in zip(layout.places(name), layout.places(name)[1:], strict=False)
    ]
    return " or ".join(tests) or "false"


def outcome_expression(layout: Layout) -> str:
    """Return SQL that names why a record is left out, a step or a pending placeholder; NULL for an attempt."""
    job = field_expression(layout, "JobID") if "JobID" in layout.columns else field_expression(layout, "JobIDRaw")
    return f"""case
        when (contains({job}, '[') or ends_with({job}, '_*')) and {field_expression(layout, "State")} = 'PENDING'
            then 'pending_array'
        when contains({job}, '.') then 'step'
    end"""


def texts_of(layout: Layout, source: str) -> str:
    """Return a query of the fields by their names: what sacct printed, NULL when empty or not exported.

    Parameters
    ----------
    layout
        Columns in order.
    source
        A query giving file_id, line_number, has_bad_bytes and the fields by their places.
    """
    taken = ", ".join(f"{field_expression(layout, name)} as {TEXTS[name]}" for name in FIELDS)
    return f"""
        select
            file_id, line_number, has_bad_bytes, {conflict_expression(layout)} as has_conflict,
            {"NodeList" in layout.columns} as has_node_column, {outcome_expression(layout)} as left_out, {taken}
        from ({source})
    """


def no_texts() -> str:
    """Return a query of the same columns without a row."""
    return texts_of(
        Layout("", ()),
        "select null::integer as file_id, null::bigint as line_number, false as has_bad_bytes where false",
    )


_PLAIN_OPTIONS = r"^[\w./-]+( --[a-z-]+=[\w.,:/=%+@-]*)*? (-x|--exclude)"
_FIRST_EXCLUSION = r"^( (?:-x[= ]?|--exclude[= ])[\w.,\[\]-]+)(?: [!#-&(-\[\]-~]*)*$"
"""The first exclusion of several words, none of which is quoted."""


def exclusion_text() -> str:
    """Return SQL for what a submit line says about exclusions, NULL when nothing; far fewer are distinct than lines.

    Long options with their value (`--name=value`) in front of the first exclusion cannot change what is excluded, nor
    can what stands behind the last one.
    """
    text = TEXTS["SubmitLine"]
    first = f"least(nullif(instr({text}, ' -x'), 0), nullif(instr({text}, ' --exclude'), 0))"
    only = f"regexp_extract(substr({text}, {first}), {literal(_FIRST_EXCLUSION)}, 1)"
    behind = f"substr({text}, {first} + length({only}))"
    return f"""case when {_excludes(text)} then
        case when regexp_matches({text}, {literal(_PLAIN_OPTIONS)})
            then '-' || if({_excludes(behind)}, substr({text}, {first}), {only}) else {text} end
    end"""


def _excludes(text: str) -> str:
    return f"(contains({text}, ' -x') or contains({text}, ' --exclude'))"
