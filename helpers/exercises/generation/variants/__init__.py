"""Lesson 11, solved differently: loops, sets, numpy, other libraries, other orders."""
