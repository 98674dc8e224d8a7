"""What a user decides: the variables of the environment, the layout of a home, and the folder of caches."""
