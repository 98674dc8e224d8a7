"""One refresh from the command line: run, progress, failures, outcome; and the forgetting of removed files."""
