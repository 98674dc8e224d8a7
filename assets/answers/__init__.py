"""Answers: a folder for each, with the queries of its rows and its templates for the page and the terminal."""
