"""Lesson 02, solved differently: loops, einsum, fused kernels, every kind of mask."""
