"""The version of the methods. It stands beside every value, so that values of different versions are not mixed."""

from __future__ import annotations

METHOD_VERSION = "8"
"""Raised whenever the same logs give different numbers.

1: failures by the hard rule of the attribution window, plain Poisson limits, finished attempts only.
2: failures weighted by their posterior probability, limits that know incidents and months, running attempts as
   exposure, all inside the study period.
3: posterior probabilities are means over the parameters that the data allow; attempts that maintenance requeues are
   censored.
4: the features of a cause are estimated from the other causes; strata are struck in proportion to exposure as far as
   the data show it.
5: the fit of the probabilities converges, and failures of all strata are drawn to exposure; every inventory snapshot is
   evidence at its own time; predictions of runs allow for months that differ; lemons, ratios of periods and forecasts
   of nodes rest on the study period; runs that go on count their time so far; what never ran breaks no chain of jobs.
6: what accounting lacks of the study period adds neither exposure nor failures; the second pass of an hour that comes
   twice, and the clocks of nodes, are told apart; months tell of their variation what their counts allow; lists of
   lemons end with the study period; nodes have the GPUs that the inventory tells.
7: a cause is counted where it could have been seen; components of a heterogeneous job fail once; lemons are gated by a
   bootstrap; the variation between months is a posterior.
8: the rate of machines counts every node that an incident took down; a time limit loses the work since the last
   checkpoint; what taking a node out saves is told by its own jobs.
"""
