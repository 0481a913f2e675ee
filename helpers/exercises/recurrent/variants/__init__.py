"""Lesson 07, solved differently: loops, einsum, torch's own cells, numpy."""
