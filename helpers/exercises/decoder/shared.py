"""What the exercises share: how far results may be off."""

# Tables of positions are made in float32 before a module turns to float64.
TABLE = 1e-6
