"""Lesson 08, solved differently: packed sequences, einsum, loops, other last states."""
