"""What goes out: to a terminal, a pipe or a file, or posted to an address; and Ctrl-C."""
