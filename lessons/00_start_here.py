# %% [markdown] slide="slide"
# # 00 Start here
#
# **Does everything work, and how does this course work?** About 10 minutes.
#
# You will build the transformer from its parts and run your parts on real pretrained
# weights: embeddings, attention, encoder, decoder, masks, translation, BERT, GPT. All
# of it on your laptop, with the network off.

# %% [markdown]
# **How to work in a notebook.** A grey cell is code. Click it and press Shift+Enter to
# run it. Run the cells from top to bottom. When in doubt: menu *Kernel*, *Restart
# Kernel and Run All Cells*. A notebook that was run out of order can show results that
# its code does not give.

# %%
import importlib.metadata
import platform
import random

import torch
from torch import Tensor

from helpers import device, show
from helpers.checks import check

# %% [markdown]
# ## Is everything here?

# %%
print("Python", platform.python_version())
for package in ("torch", "numpy", "matplotlib", "transformers", "jupyterlab"):
    print(package, importlib.metadata.version(package))
print("training cells will use:", device())

# %% [markdown] slide="slide"
# ## An exercise, and the four answers of a check
#
# Each exercise is a function or a class with its body missing, and below it a cell that
# checks it. Run both cells below just as they are.

# %% [markdown] exercise="0.1"
# Return the mean of each row: the mean over the **last** axis, whatever comes before
# it.


# %% exercise="0.1"
def row_means(x: Tensor) -> Tensor:
    """Average over the last axis.

    Args:
        x: (..., row): one or more axes

    Returns:
        (...): one number for each row.
    """
    ### BEGIN SOLUTION
    return x.mean(-1)
    ### END SOLUTION


# %%
check("0.1", row_means)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which number means "the last axis", however many there are?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `x.mean(...)` takes the number of an axis; negative numbers count from the end.
# </details>

# %% [markdown]
# A check answers with a card. Its label is one of four words, and you can see all four
# of them here:
#
# 1. **Not attempted.** You saw this, if you changed nothing. The line
#    `raise NotImplementedError` may stay where it is: a `return` before it is enough.
# 2. **Raised.** Write `return x.mean(99)` above that line, run both cells, and read.
# 3. **Wrong.** Now `return x.mean(0)`. The card says first what you did and then where
#    to look; *Evidence* opens on a click and shows the case that proves it.
# 4. **Passed.** Now do it right. The card then counts how many ★ of the lesson you
#    have, and as long as some are left it links to the next one. The exercises with a
#    ★ are the **core path** of the course; the others go further.

# %% [markdown]
# A check does not guess: *What happened* names a mistake only if your code did the same
# as that mistake in every case it tried. Where it can tell only what an error usually
# means, it says *often*. It judges results, not style: loops are as good as one-liners,
# and numbers that were computed in float32 pass, unless an exercise asks for more.

# %% [markdown]
# **Stuck?** Open the hints under an exercise. If they don't help, borrow the course's
# answer and go on; no later cell depends on yours. In a new cell (press B):
#
# ```python
# row_means = borrow("0.1")
# ```
#
# A borrowed answer is not counted as passed, and you can write your own any time.
#
# **Not everything solved yet?** You can still run the whole notebook: a cell that needs
# an answer of yours says so in a line, and the next ones run. When a program executes
# your notebook, as a grader does, a check that has not passed is an error instead, with
# the same text.
#
# **A cell does not end?** A check stops code that runs for ever and says so. What it
# can't stop, and any other cell, you can: the square in the toolbar (■, interrupt the
# kernel). Your variables stay.

# %% [markdown] slide="slide"
# ## Where your work is
#
# `make lab` copied the notebooks into the folder `work/` and never overwrites what you
# wrote there. If the course brings a newer version of a notebook, it replaces one that
# you have only opened or run, and is put beside one that you changed, under another
# name. What you have passed is kept in the same folder. The cell below draws it, lesson
# by lesson, and `make progress` prints it in a terminal.

# %% slide="skip"
from helpers.student.overview import progress

progress()

# %% [markdown] slide="slide"
# ## Words and letters
#
# | name | letter | meaning |
# |---|---|---|
# | batch | B | sequences that are worked on together; always the first axis |
# | length | T, S | tokens of a sequence: T that ask (query), S that are asked (key) |
# | d_model | D | width of the vector that stands for a token |
# | num_heads, d_head | H, K | heads of attention, width of each (the paper's d_k) |
# | d_ff | F | width inside the feed-forward network |
# | vocabulary | V | the tokens there are; id 0 is padding |

# %% [markdown]
# **Scores** come before the softmax, **weights** after it. **Memory** is what an
# encoder hands to a decoder. A **mask** is boolean, and True means *may attend*; other
# libraries differ, and lesson 02 shows how. Layers return one tensor; weights come on
# request.

# %% [markdown]
# **Numbers are reproducible.** Every lesson sets a seed once, and random draws come
# from generators. Two runs of this cell print the same:

# %% tags=["nbval-check-output"]
draws = torch.Generator().manual_seed(42)
show("three random numbers", torch.randn(3, generator=draws))

# %% [markdown]
# ## What else is here
#
# The list of files at the left also shows three folders of the course, for you to read
# and not to change. `solutions/` holds the model answers, for afterwards. `docs/` tells
# what was measured, and how. `helpers/` is the code that the lessons import, with cards
# for the [texts](../helpers/corpora/README.md) and the
# [language model](../helpers/corpora/gpt2/README.md) that come with the course.
#
# Code that only draws a figure or guards a number is folded: a bar stands in its place,
# and a click on it opens it. Run it like any other cell.

# %% [markdown] slide="slide"
# ## The lessons
#
# Words as vectors (01); attention (02); several heads (03); an encoder that is BERT
# (04); the decoder (05); masks, and a model that translates (06); recurrent networks,
# which came before (07); translation with and without attention (08); fine-tuning BERT
# (09); a GPT from scratch (10); choosing the next word (11).

# %% [markdown]
# The transformer dates from 2017. Its architecture has changed little since, and it now
# works on text, images, sound and anything else that can be cut into a sequence. This
# course takes no side in the hype: it measures.

# %% [markdown]
# ## What we learned from other courses' mistakes
#
# This course grew out of four documents on transformers, good and honest ones: two
# notebooks and two blog posts. From them we have the rhythm of a lesson (formula,
# numbers by hand, a class, its shapes), one batch of random numbers for all shape
# tests, tasks for the brave, and questions that are answered in prose.

# %% [markdown]
# One post is marked "not finished yet", the other stops long before its goal, a GPT-2.
# Where they stop, this course goes on. And we re-ran all their code. What we found
# became exercises, always with the evidence:

# %% [markdown]
# - a notebook whose cells were run out of order, so that a result stood *above* the
#   code that made it (our solutions run top to bottom, in a fresh kernel, in CI);
# - `set_verbosity_error()` in one cell, which silenced the one warning that a
#   classifier's head was random (lesson 09);
# - blanks such as `Q =`, which are a SyntaxError until the whole cell is filled (ours
#   are `Q = ...`, which runs);
# - a causal mask that was inverted, with the proof printed below it (lesson 06);
# - a misspelt name in the branch for masks, where no demo ever passed a mask: a line
#   that never runs is never tested (our checks run every branch);
# - names with several meanings, such as d_k, first 3 and later 300: run one cell twice
#   and another breaks (one name, one meaning, in all our notebooks);
# - `!pip install` without versions, and below it a warning about forked tokenizers
#   (`TOKENIZERS_PARALLELISM`) that nobody read: a warning never read costs more than a
#   crash. Our packages are pinned, and this course shows no warning of its own.

# %% [markdown]
# Blanks that run, for example: Python accepts three dots as a value.

# %% tags=["nbval-check-output"]
Q = ...
print(Q, "is still to be written:", Q is Ellipsis)

# %% [markdown]
# The same seed for *every* random source matters, too. `torch.manual_seed` says nothing
# to Python's own `random` or to NumPy:

# %% tags=["nbval-check-output"]
torch.manual_seed(0)
first = random.random()
torch.manual_seed(0)
print("Python's random starts again:", random.random() == first)

# %% [markdown] slide="skip"
# ## References
#
# Vaswani et al. 2017, *Attention Is All You Need*, arXiv 1706.03762: the paper.
# Alammar, *The Illustrated Transformer*. Weng, *Attention? Attention!*. Rush, *The
# Annotated Transformer*. Karpathy, *Let's build GPT* (video). Gordić's and the Rasa
# whiteboard's videos on attention. Stanford CS224N, winter 2019, lecture 14,
# *Transformers and Self-Attention* (video). Carnegie Mellon 11-785, recitation 11.
# Kaduri, *From N-grams to CodeX*. The TensorFlow chatbot tutorial, for the same model
# in another framework.

# %% [markdown]
# **Next: lesson 01**, or [lesson 02](02_attention.ipynb) if you know word vectors.
