"""Lesson 00, independent solutions."""
