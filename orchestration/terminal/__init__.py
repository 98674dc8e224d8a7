"""Output to a terminal, a pipe, a file or an address, and Ctrl-C."""
