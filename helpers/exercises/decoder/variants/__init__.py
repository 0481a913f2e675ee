"""Lesson 05, solved differently: loops over sublayers, lists, torch's own counting."""
