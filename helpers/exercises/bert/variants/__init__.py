"""Lesson 09, solved differently: recursion, numpy, library classes, other orders."""
