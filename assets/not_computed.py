"""The estimates that the last refresh could not compute and published without rows, and why.

`assets/estimates/table.py` writes them to `ops.checks`; status, doctor, summary, alerts and report read them.
"""

from collections.abc import Mapping

COMPUTED = "computed"
"""Name of the check."""
NOT_COMPUTED = f"""
    select table_name, observed as reason, run_id
    from ops.checks
    where
        check_name = '{COMPUTED}'
        and not passed
        and run_id = (select run_id from ops.runs order by rowid desc limit 1)
    order by table_name
"""


def failed_in_words(row: Mapping[str, str]) -> str:
    """Return a row as a sentence."""
    return f"{row['table_name']} could not be computed and is published without rows: {row['reason']}"
