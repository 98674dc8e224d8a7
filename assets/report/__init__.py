"""Tables of the warehouse in, one self-contained HTML page out. Nothing is counted here that SQL can count."""
