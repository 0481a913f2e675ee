"""Repeats the experiments of lessons over several seeds, for docs/experiments.md.

declared.py   the experiments: claim, control, what runs, which columns
cells.py      runs the cells of a lesson that carry a tag, with another seed
page.py       docs/experiments.md, a section per experiment
"""
