"""Simulates every estimator and prints what came out; `--write FILE` writes it as a page of the docs."""

from tests.docs.writers.pages import run_page_command
from tests.proof.page import page

if __name__ == "__main__":
    run_page_command("tests.proof", __doc__, page)
