"""Lesson 04, solved differently: other parts, other spellings, the same numbers."""
