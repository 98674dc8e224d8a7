"""Kernel logs: GPU errors and other lines that bear on a node's health."""
