"""Independent solutions to lesson 03: loops, einsum, slices, ways to copy a layer."""
