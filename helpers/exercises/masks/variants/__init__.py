"""Lesson 06, otherwise: loops, broadcasting, float detours, other libraries."""
