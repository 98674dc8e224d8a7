"""What must hold for the tables of `estimates` that answer one question each. Each function is the suite of a table.

The questions: where in the machine, did the repair work, did the change help, which check to trust, what is hidden.
"""

from __future__ import annotations
