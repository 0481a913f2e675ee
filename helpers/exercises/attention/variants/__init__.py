"""Independent solutions to lesson 02: loops, einsum, fused kernels, every mask."""
