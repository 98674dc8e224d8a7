"""The proof as a page of the docs: measurements in, Markdown out."""

from __future__ import annotations

import math

import numpy as np
import scipy

from tests.docs.writers.pages import table
from tests.model.planted_fleets import Setting as LemonSetting
from tests.proof import counts, fits, reach, repairs
from tests.proof.agreement import SETTINGS, Agreement, Setting, compare
from tests.proof.lemon_lists import FLEETS, MAX_WRONG_SHARE, ListsFound, try_lists
from tests.proof.lemon_lists import SETTINGS as LEMON_SETTINGS
from tests.proof.promises import promises_part
from tests.proof.published import SECTIONS, Figure
from tests.proof.trial import Measured, Trial

RUNS = 4000
"""Simulated runs of each setting of the ETTR table."""

COVERAGE = (*counts.TRIALS, *reach.TRIALS, *repairs.TRIALS, *fits.TRIALS)

HEAD = f"""# How far the estimators can be trusted

Every estimate comes with limits and a confidence level. This page shows how often the limits hold the truth, how far
the values are off, and whether figures that others published come out again. It is made by

<!-- needs: minutes -->
```sh
python -m tests.proof --write docs/estimators.md
```

which simulates data whose truth is known, from the seeds given here, and estimates from them with the functions of
`assets/model` that the tables use (made with numpy {np.__version__} and scipy {scipy.__version__}).
`tests/proof/test_coverage.py` asserts the same on fewer rounds, `tests/proof/test_published.py` the published figures.
"""

COVERAGE_HEAD = """## Coverage and error

*Covered* is the share of rounds whose limits held the truth, with its simulation error (one standard error). *Asked* is
what the tests ask: two points around the nominal share, give or take three simulation errors; at least the nominal
share less two points where limits are exact, because a count moves in steps and exact limits lie on the safe side.
*Bias* is the mean error of the value with its simulation error, *typical error* the root of the mean squared error:
as shares of the truth, but of slopes as they are and of days in days.
"""

COVERAGE_NOTES = """* **The paper's limits.** With three failures expected, Gamma quantiles hold the truth in {gamma} of
  cases, not in 90%, and the tests ask that this is seen; they come close as counts grow. They stand beside the paper's
  figures and nowhere else.
* **MTTF and ratios** divide by a count. With ten failures an MTTF comes out {mttf} too long on average, although its
  limits keep their word. Rounds without a failure state no value and are left out of bias and error.
* **Slopes** come out conservative where counts are Poisson: a dispersion above 1 comes up by chance too, and widens.
* **Day of a change** is measured where exactly one change was found; its limits are asked for the day, not for whether
  there was a change.
* **Share attributed by chance** has limits that are on the safe side by construction (Fay and Feuer).
* **How far evidence reaches** is held against what happened in the round. Where each of two sources misses some, what
  neither saw is a few ends, and the limits hold it somewhat less often than they say; the bound on unexplained ends
  holds in nine of ten cases.
* **Failures to come** are held against a count that is drawn afterwards: limits are for what happens, bias and error
  for the expected count.
"""

VERDICT_HEAD = """## False and missed findings

How often data show what is, or is not, in them.
"""

VERDICT_NOTES = """* A change that is small for its time is missed more often than not: that none is shown does not
  say that there was none.
* That the rate is the same at all sizes is said only where the limits of the slope lie within -0.05 and 0.05; with few
  failures the answer is *cannot tell*.
"""

_NODES = f"{LEMON_SETTINGS[0].node_count:,}"
_WRONG = f"{MAX_WRONG_SHARE:.0%}"

CHECKS = """## Which check to trust

`est_check_scores` counts each onset of a check as true by its probability p (`true_share`):

* An onset is followed to the first failure of its component on its node, or to a ticket or an administrator's outage
  of it, from ten minutes before. A boot, another outage, a gap, the end of the data, or 7 days end that; reports
  made while the node is out, or within 15 minutes of the boot, still count. p is the posterior of that failure, 1 for a
  repair; where the onset lies by a failed attempt, the posterior of the attribution if that is more.
* Of the O onsets so followed, `mu = sum(1 - exp(-rate * days))` over the days that each was followed would be by
  chance: each counts p times `max(0, 1 - mu / O)`. The rate is the fleet's, of faults of the component on node-days on
  which no onset of the check was followed; faults within a day of another on the node are one.
* p is 0 where the onset was followed for 7 days, half of the time in use, and nothing came. A job that went on, or a
  finding that cleared, refutes nothing; `survived_count` counts the jobs.
* Of the others, a kernel message of the component within 5 minutes makes p 1. Any other onset is unknown.

The share is the sum of p over the onsets judged. Its limits are Clopper and Pearson's (Manski 2003), of counts over
their dispersion, which is the variance over the mean of the onsets in a burst: of one hour, or of one node with one
outcome (Rao and Scott 1992). In the lower one all unknown onsets are false. In the upper one as many are true as
outages and boots ended beyond the fleet's rate of them; those that the end of the data or an idle node left open are
as the ones judged. Doubtful onsets and chance widen both by the variance of their sum. False alarms per node-month
have dispersed Garwood limits. The lead is the weighted median over the failures that the check showed, an hour at
most. Assumptions: posteriors are right on average, a fault shows within 7 days of use, and when data end or nodes
idle has nothing to do with faults. Onsets of a check that takes nodes down stay unknown. The verdict is
*cannot tell* with few onsets, with onsets in few bursts, or where most of them could not be followed.
"""

CHANGES = """## Did the change help?

`est_changes` compares the rate of incidents before and after each change that is known, and decides on all rows of a
cluster together. The changes: versions that boot lines, inventories and the controller's log show, first reports of
checks, annotations.

* Where a fifth of the nodes had changed for a week and a fifth had not, the roll-out was staged. The ratio of the nodes
  that changed, after to before, is divided by that of the others on the same days; its limits are those of Fisher's
  noncentral hypergeometric distribution (Cornfield 1956, `ratio_of_ratios`). Days are chosen by when nodes changed,
  never by what failed (`compared_cells`).
* Otherwise each node is compared with itself (`rate_ratio`). All that came at the same time is then part of the ratio.
* Two changes are inseparable if fewer than 3 incidents of the cause are expected, at the rate before them, in the
  node-days in which exactly one of them has taken effect. One that is inseparable from the first of a group joins it.
  A group has one test, of the days before its first change and after its last.
* Counts are divided by their dispersion: ``var(log ratio) = phi (1/k1 + 1/k0) + CV^2 (1/m1 + 1/m0)``, phi from
  doubtful incidents, m the months seen of a side, at least 1. The CV of months has a posterior from the months within
  both sides, each with its own mean (`month_variation`); with unchanged nodes it is that of the groups' ratio
  (`variation_of_ratio`). The p-value is its mean over that posterior (`p_over_months`). Without unchanged nodes a
  verdict needs 75 seen days on each side.
* A verdict is *helped* or *hurt* where the false discovery rate is at most 5% (Benjamini and Hochberg 1995), among
  tests with enough incidents for any outcome to tell (Tarone 1990). It is *no change shown* where 80% of falls to one
  half would have been shown (`smallest_shown`, Cohen 1988), else *cannot tell*.
* A new check changes what is seen, not what fails: where more is seen after it, the verdict is *cannot tell*.
* A node-day counts where it has all kinds of logs that at least half of the cluster's node-days have.
"""

HIDDEN = """## Failures that Slurm does not call so

`est_hidden_failures` compares how jobs end on each node with how the same users' jobs of the same size, partition and
node count end elsewhere: how many fail within 5 minutes, and how many time out. The odds ratio is that of Mantel and
Haenszel (1959), with the variance of Robins, Breslow and Greenland (1986); p-values are tails of sums of draws by their
saddlepoint (Daniels 1987); false discoveries are controlled over all nodes of a cluster and both kinds (Benjamini and
Hochberg 1995). Ends that point to no node (late failures, cancellations) are not compared.

* Attempts of a user under one name on one node and day are one job: a crash loop counts once, and so does an array of
  which every task fails. A suspect has to stand out (p of 0.01) without the user with most such ends, too.
* Ends come in bursts. How much the counts of all nodes scatter beyond draws widens limits and raises p-values (Devlin
  and Roeder 1999). Fewer than 10 nodes do not tell; their p-values are too low where ends come in bursts.

Assumptions: most nodes are good, and a user's work is not sent to a node because it will fail. A user who tests on one
node of a partition makes that node a suspect only if others do the same. Without users in accounting nothing is said.
"""

PLACES = """## Where in the machine

`est_location_rates` has the failures of nodes by rack, switch, NVLink domain, position in the rack and GPU model, for
the kinds of which a cluster has several places. A failure is a node that an incident took down.

* A rate has the limits of a count that scatters: with what each burst took of the place, and with how much more its
  nodes differ than chance lets them, counted once where both do (Cameron, Gelbach and Miller 2011).
* The ratio is against all other places of the kind, with a common dispersion; lemons of these are left out. The
  q-value is Benjamini and Hochberg's (1995), one-sided, within the kind, and of the place without its worst node.
* Failures with no more than ten minutes between them are one burst. Bursts that took several nodes of a place stand
  beside those to expect, had each drawn its nodes by their days in use; a job that lost several nodes drew them from
  its own, because the scheduler puts them together. The share with a common cause is what comes with others of its
  place beyond chance (the beta factor of Fleming 1974, with Abbott's correction).
* The MTTF of a large job counts a burst in a place once; on nodes that lie together it is longer still.

A place *fails more* or *fails together* where its q-value is at most 5%. Of machines with lemons and nodes that differ,
up to 3% had such a place though none was planted (`tests/model/test_places.py`). Places of fewer than three nodes are
not compared, and *cannot tell* is said where a place may fail three times as often as the rest.
"""

REPAIRS = """## Did the repair work

`est_repairs` follows every outage for a fault from the return to service to the next failure of the same cause on the
node: an incident whose culprit it is, or an outage. The clock stands still while the node is out for something else.
It stops, and the repair counts for as long as it was watched, where the study ends, accounting has a gap, the record of
outages ends, or the node was last seen.

* Relapses within 7 and 30 days are Kaplan and Meier's (1958). Limits are Wilson's (1927) at the number of repairs that
  has Greenwood's variance (Rothman 1978), divided by how much larger the variance is with the repairs of a node taken
  together. To leave out repairs that were not watched for so long would lose most of the last month.
* The time by which half relapsed has Greenwood's limits on the scale of log(-log S) (Brookmeyer and Crowley 1982), the
  hours out of service those of the sign test (Conover 1999).
* Actions are compared by a log-rank test (Mantel 1966) with a variance that is robust to nodes that relapse again and
  again (Lee, Wei and Amato 1992), and Student's t. False discoveries are controlled over all actions and causes of a
  cluster (Benjamini and Hochberg 1995).
* The test compares repairs of one cause on nodes that came back from as many faults in the 30 days before (0, 1, 2, or
  more). Else a bad node, which fails whatever is done and often gets no part because its faults vanish, makes the
  exchange look good: with 3% of such nodes in 1,000, most clusters without a difference showed one.

Assumption: among such repairs the action does not depend on how bad the fault was. The verdict is *cannot tell* with
fewer than 5 repairs on either side or 5 relapses, and where what was done is unknown or always the same.
"""

LEMON_HEAD = f"""## Lists of lemons

{FLEETS} fleets of each setting (seeds 0 to {FLEETS - 1}): {_NODES} nodes that fail 6.5 times in 1,000 node-days, used
83% of the time, and lemons that fail so many times as often *as* normal nodes, or as the whole fleet on average, which
for ten times is 9% less. The culprit of so many of the failures is *known*; of the others any node of the job may be it
(`infer_culprits`, `decide`). *Wrong* is the mean share of wrong names in a list (false discovery rate): asked is at
most {_WRONG}, give or take three simulation errors. Where the counts cannot tell lemons from bad luck, no list is
made. A month names only the worst; what is ten times as bad needs a season. Who knew both rates and every culprit would
find 62% of the lemons that are ten times as bad as normal nodes, in 90 days, with 9% wrong names: nobody can do much
better. `python -m tests.proof.simulated_lemons` plants them in the logs of the simulated `rsc1` instead.
"""

ETTR_HEAD = f"""## Expected ETTR

The paper's form and the exact renewal form (`expected_ettr`, `expected_ettr_exact`) against {RUNS:,} runs that are
lived through failure by failure (`tests/proof/lived_runs.py`), with restarts of {SETTINGS[0].restart:g} minutes.
*Apart* is the simulated value less the exact form in standard errors: the tests ask for less than 3.5. *Bias of the
paper's form* is its error against the simulation: the paper claims 5% at 8,000 GPUs, and the tests ask for it up to
there. Beyond, with long intervals, the paper's form is pessimistic.
"""

PUBLISHED_HEAD = """## Published figures

Worked out again, by the functions named, from the counts and settings that are printed with them. The figures were
taken from public quotations and summaries of the sources, not from the papers' own files. A source that is *worked out*
gave counts, or a formula, and no such figure: the reference follows from it by arithmetic apart from this code.
*Agrees* means: ours, rounded as the reference is, is the reference. What does not follow from the numbers printed
beside it stays in the table.
"""


def _with_error(measured: Measured) -> str:
    return f"{100 * measured.share:.1f}% ± {100 * measured.error:.1f}"


def _errors(trial: Trial, measured: Measured) -> tuple[str, str]:
    if math.isnan(measured.bias):
        return "-", "-"
    if trial.is_relative:
        return f"{100 * measured.bias:+z.1f}% ± {100 * measured.bias_error:.1f}", f"{100 * measured.spread:.1f}%"
    return f"{measured.bias:+z.3f} ± {measured.bias_error:.3f}", f"{measured.spread:.3f}"


def _coverage_row(trial: Trial, measured: Measured) -> tuple[str, ...]:
    return (
        trial.estimator, trial.simulated, f"{100 * trial.nominal:g}%", _with_error(measured), str(trial.rule),
        *_errors(trial, measured), f"{trial.rounds:,}", str(trial.seed),
    )  # fmt: skip


def _verdict_row(trial: Trial, measured: Measured) -> tuple[str, ...]:
    return (
        trial.estimator, trial.simulated, str(trial.rule), _with_error(measured), f"{trial.rounds:,}", str(trial.seed),
    )  # fmt: skip


def _ettr_row(setting: Setting, found: Agreement) -> tuple[str, ...]:
    return (
        f"{setting.gpu_count:,}", f"{1000 * setting.rate:.2f}", f"{setting.checkpoint:g}", f"{setting.write:g}",
        f"{setting.queue:g}", f"{found.published:.4f}", f"{found.exact:.4f}",
        f"{found.simulated:.4f} ± {found.standard_error:.4f}", f"{found.errors_apart:+.1f}",
        f"{100 * found.published_bias:+z.1f}%", str(setting.seed),
    )  # fmt: skip


def _lemon_row(setting: LemonSetting, found: ListsFound) -> tuple[str, ...]:
    def share(value: float, error: float | None = None) -> str:
        return "-" if math.isnan(value) else f"{100 * value:.0f}%" + ("" if error is None else f" ± {100 * error:.0f}")

    return (
        str(setting.days), f"{setting.lemon_count}", f"{setting.factor:g}" if setting.lemon_count else "-",
        "the fleet" if setting.is_of_fleet else "normal nodes", f"{setting.known_share:.0%}",
        share(found.false_discovery_rate, found.false_discovery_error), share(found.precision),
        share(found.recall, found.recall_error), f"{found.listed:.1f}", share(found.refused),
    )  # fmt: skip


def _as_printed(figure: Figure) -> str:
    """Show one digit more than the source, so that rounding can be followed."""
    decimals = len(figure.printed.partition(".")[2]) + 1
    return f"{figure.ours:,.{decimals}f}"


def _figure_row(figure: Figure) -> tuple[str, ...]:
    verdict = "yes" if figure.agrees else f"no: {figure.note}"
    printed = figure.printed.replace(">", "above ")
    return figure.source, figure.quantity, f"`{figure.function}`", verdict, printed, _as_printed(figure)


def published_section() -> str:
    """Write the part of the page that is not simulated."""
    header = ("source", "figure", "function", "agrees", "reference", "ours")
    tables = (
        f"### {name}\n\n" + table(header, map(_figure_row, figures), header[:4]) for name, figures in SECTIONS.items()
    )
    return "\n".join((PUBLISHED_HEAD, *tables))


def page() -> str:
    """Simulate everything and write the whole page."""
    covered = [trial.measure(trial.rounds) for trial in COVERAGE]
    verdicts = [trial.measure(trial.rounds) for trial in fits.VERDICTS]
    agreements = [compare(setting, RUNS) for setting in SETTINGS]
    lists = [try_lists(setting, FLEETS) for setting in LEMON_SETTINGS]
    of = dict(zip(((trial.estimator, trial.simulated) for trial in COVERAGE), covered, strict=True))
    gamma = of[counts.PAPER, "3 failures expected"].share
    mttf = next(measured.bias for (name, _), measured in of.items() if "mttf_from_runtime" in name)
    return "\n".join(
        (
            HEAD,
            COVERAGE_HEAD,
            table(
                ("estimator", "simulated", "nominal", "covered", "asked", "bias", "typical error", "rounds", "seed"),
                map(_coverage_row, COVERAGE, covered),
                ("estimator", "simulated"),
            ),
            COVERAGE_NOTES.format(gamma=f"{100 * gamma:.0f}%", mttf=f"{100 * mttf:.0f}%"),
            VERDICT_HEAD,
            table(
                ("shown", "simulated", "asked", "measured", "rounds", "seed"),
                map(_verdict_row, fits.VERDICTS, verdicts),
                ("shown", "simulated"),
            ),
            VERDICT_NOTES,
            promises_part(),
            CHECKS,
            CHANGES,
            HIDDEN,
            PLACES,
            REPAIRS,
            LEMON_HEAD,
            table(
                ("days", "lemons", "times as often", "as", "known", "wrong", "precision", "recall", "names",
                 "no list made"),
                map(_lemon_row, LEMON_SETTINGS, lists),
                (),
            ),
            ETTR_HEAD,
            table(
                ("GPUs", "failures per 1,000 node-days", "checkpoint, min", "write, min", "queue, min",
                 "paper's form", "exact form", "simulated", "apart", "bias of the paper's form", "seed"),
                map(_ettr_row, SETTINGS, agreements),
                (),
            ),
            published_section(),
        )
    )  # fmt: skip
