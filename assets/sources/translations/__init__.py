"""Forms of logs that are translated into lines of their kind's own form, one per module. `other_forms` finds them."""
