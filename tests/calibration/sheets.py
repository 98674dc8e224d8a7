"""All rows of one cluster."""

from __future__ import annotations

from assets.simulation.ledger import Ledger
from assets.simulation.profiles import Profile
from tests.calibration.failures import write_causes, write_course, write_failure_rate
from tests.calibration.lemons import write_lemons
from tests.calibration.losses import write_ettr, write_lost_goodput
from tests.calibration.observed import Observed
from tests.calibration.paper import DAYS, PAPERS
from tests.calibration.rows import Part, Row, Sheet
from tests.calibration.work import write_cluster, write_rules, write_sizes, write_states

WRITERS = (
    write_cluster,
    write_rules,
    write_states,
    write_causes,
    write_course,
    write_sizes,
    write_failure_rate,
    write_lost_goodput,
    write_ettr,
    write_lemons,
)


def calibrate(profile: Profile, ledger: Ledger) -> list[Row]:
    """Compare a simulated cluster with the paper's values.

    Parameters
    ----------
    profile
        A cluster with the id of one in the paper. With fewer nodes or days it is judged as a part.
    ledger
        Its frozen ledger.

    Raises
    ------
    ValueError
        When the paper has no such cluster.
    """
    return calibrate_observed(Observed(profile, ledger))


def calibrate_observed(seen: Observed) -> list[Row]:
    """Compare what a cluster's logs show with the paper's values."""
    cluster = seen.profile.cluster_id
    if cluster not in PAPERS:
        raise ValueError(f"the paper has no cluster '{cluster}'; it has: {', '.join(sorted(PAPERS))}")
    sheet = Sheet(cluster, part_of(seen))
    for write in WRITERS:
        write(sheet, seen, PAPERS[cluster])
    return sheet.rows


def part_of(seen: Observed) -> Part:
    """Tell whether the simulated cluster has all nodes and all days of the paper's."""
    profile = seen.profile
    return Part(profile.node_count >= PAPERS[profile.cluster_id].node_count, profile.days >= DAYS)
