"""Checks that a site runs once per subject, and how their messages name the subject.

The macro `health_check_subject` reads the same from the stored messages; a test compares the two.
"""

from __future__ import annotations

SUBJECTS = (
    "service status", "mounted directory", "disk usage", "running process", "check module", "check ssh", "gpumemwatch",
    "gpupciewatch", "gpunvlinkwatch", "gpuinforomwatch", "gpusmwatch", "gpumcuwatch", "gpupmuwatch", "gputhermalwatch",
    "gpupowerwatch",
)  # fmt: skip
"""Checks whose good results name only the subject."""

SUBJECT = r"(?:(?:Service|Directory|Volume|Process|Module|Host|GPU) |service status: |mounted directory )([^\s:,]+)"
"""Matches the text before a subject, and the subject."""
