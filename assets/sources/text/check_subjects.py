"""Checks that a site runs once per thing, and how their messages name the thing.

The macro `health_check_subject` reads the same from the stored messages; a test holds the two together.
"""

from __future__ import annotations

SUBJECTS = (
    "service status", "mounted directory", "disk usage", "running process", "check module", "check ssh", "gpumemwatch",
    "gpupciewatch", "gpunvlinkwatch", "gpuinforomwatch", "gpusmwatch", "gpumcuwatch", "gpupmuwatch", "gputhermalwatch",
    "gpupowerwatch",
)  # fmt: skip
"""Checks whose good results name what was looked at, and nothing else."""

SUBJECT = r"(?:(?:Service|Directory|Volume|Process|Module|Host|GPU) |service status: |mounted directory )([^\s:,]+)"
"""The text before a subject, and the subject."""
