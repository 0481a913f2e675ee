"""Lesson 12, solved differently: loops, complex numbers, einsum, fused kernels."""
