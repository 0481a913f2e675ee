"""Lesson 08, otherwise: packed sequences, einsum, loops, other last states."""
