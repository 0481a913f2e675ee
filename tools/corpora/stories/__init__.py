"""A story world: a small simulator that tells stories and keeps track of its facts.

    words     the people, animals, things and places
    world     where everybody and everything is, and how it is called
    telling   patterns of sentences, and how one is filled in
    plots     what happens: two dozen shapes of plot, each with a happy and a sad end
    patterns  the sentences, by hand: one file for each group of plots

It writes the training text of the storyteller; `python -m tools.corpora.stories --draw
10` prints some. A lesson needs the finished model and not its text, so this lies with
the tools.
"""

from tools.corpora.stories.plots import PLOTS, tell
from tools.corpora.stories.telling import Recall, Story

__all__ = ["PLOTS", "Recall", "Story", "tell"]
