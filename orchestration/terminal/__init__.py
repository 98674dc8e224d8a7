"""What goes to the terminal, a pipe or a file, and Ctrl-C."""
