"""What the exercises share: inputs, masks, and norms that can be told apart."""

# Tables of positions are made in float32 before a module turns to float64.
TABLE = 1e-6
