"""Lesson 10, otherwise: loops, einsum, state dicts, fused and separate layers."""
