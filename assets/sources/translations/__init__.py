"""Forms of logs that are written anew as lines of a kind's own form."""
