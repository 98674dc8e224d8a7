"""What the data is: the Python half. When and where it runs is decided in `orchestration`."""
