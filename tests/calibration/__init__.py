"""Compares simulated clusters with the paper: each value of the paper, the simulated value, and whether they agree.

The values are those of Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters" (HPCA
2025). `python -m tests.calibration` simulates both clusters and prints the page.
"""
