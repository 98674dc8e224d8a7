"""Every correction is turned off once, and a test must fail: `mutations` is the list, `test_mutations` tries it."""
