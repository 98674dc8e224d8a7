"""Forms of logs that are translated into lines of their kind's own form: a module each. `other_forms` finds them."""
