"""What `faultline export --public` leaves out: columns by name, and in SQL which cells are hidden."""
