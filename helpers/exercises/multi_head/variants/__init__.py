"""Lesson 03, solved differently: loops, einsum, slices, every way to copy a layer."""
