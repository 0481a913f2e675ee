"""Lesson 06 solved independently: loops, broadcasting, floats, other libraries."""
