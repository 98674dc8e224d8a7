"""The verdicts of the test of a rate over job sizes, as values of a column and in words."""

from __future__ import annotations

CONSTANT, GROWS, FALLS, CANNOT_TELL = "constant", "grows", "falls", "cannot tell"
VERDICT_IN_WORDS = {
    CONSTANT: "the failure rate per node is the same for small and large jobs, as far as it matters",
    GROWS: "the failure rate per node grows with the size of the job: projections to larger jobs are too optimistic",
    FALLS: "the failure rate per node falls with the size of the job: projections to larger jobs are too pessimistic",
    CANNOT_TELL: "it is unknown whether the failure rate per node depends on the size of the job",
}
