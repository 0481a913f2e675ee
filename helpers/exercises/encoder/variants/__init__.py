"""Lesson 04 solved independently: other parts, other code, the same numbers."""
