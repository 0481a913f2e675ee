"""The exercises, lesson by lesson: cases, right answers and mistakes known by name."""
