"""Draws sentences of the little language to be read, and trains its translators."""
