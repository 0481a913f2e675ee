# %% [markdown] slide="slide"
# # 00 Start here
#
# **What will you have built, and how does this course work?**
#
# > The animal did not cross the street because it was too **tired**.
# >
# > The animal did not cross the street because it was too **wide**.
#
# One word differs, and *it* is the animal in the first sentence, the street in the
# second. You knew both at once. How could a computer know? The kind of model that
# learns such things from text, and that this course is about, is the **transformer**.
# You will build several from their parts, load real pretrained weights into some, and
# watch them search, translate and write.
#
# You need: Python, and the little PyTorch that a section of this page lists.
# Time: {minutes}.

# %% [markdown] slide="notes"
# Leave 0.B and everything below Going further for the lab.

# %% [markdown] slide="notes"
# **3 minutes.** Ask: who is *it* in the first sentence, who in the second, and how did
# you know?
#
# Expect: the animal, the street, and "common sense".
#
# Say: a computer has no common sense to look up, only text to learn from. By lesson 11
# each of you has a model that reads, and one that writes.

# %% [markdown] slide="skip"
# All of it runs on your own laptop, with the network off. This page shows first what
# you will have made, and then how the lessons work. A grey cell is code: click the one
# below, and press Shift and Enter. It loads what this page needs, which takes a few
# seconds. Go on in the same way, from top to bottom.

# %%
import importlib.metadata
import platform
import random

import torch
from torch import Tensor, nn

from helpers import device, show
from helpers.checks import check
from helpers.experiments.bundled import load_translator
from helpers.experiments.first_look import continued, search
from helpers.experiments.one_head import one_head
from helpers.figures.start import show_look

# %% [markdown] slide="slide"
# ## A first look at what you will build
#
# ### One: find a sentence by its meaning
#
# A file of this course holds 320 everyday sentences, and none of them has the word
# *insomnia*. What should a search for it find? Make your guess, then run the cell.

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: none of 320 sentences has the word *insomnia*.
# What will the search find?
#
# Expect: "nothing", and "something about sleep".
#
# Say: the first answer shares no word with the question. You write this encoder in
# lesson 04. Take a question of theirs.

# %% tags=["nbval-check-output"] slide="fragment"
query = "suffering from insomnia"
for sentence, cosine in search(query):
    print(f"{cosine:.2f}  {sentence}")

# %% [markdown] slide="skip"
# The first answer has no word in common with the question. A small pretrained
# **encoder**, a model that reads, has turned every sentence into a **vector**, a list
# of 384 numbers, and did the same with your question. You see the three sentences whose
# vectors point most nearly in its direction; the number is the **cosine** of the angle,
# and 1 would be the very same direction. Put *not* in front of the question: the first
# answer stays, so it is rather the topic that was found. Type a question of your own
# between the quotes and run the cell again, *someone broke into our home* for instance.
# You write this encoder in lesson 04, load these weights into it, and search with your
# own code.

# %% [markdown] slide="subslide"
# ### Two: see where *it* looks
#
# Inside that encoder every word looks at all the words of its sentence, and takes
# something from each of them: much from those that matter to it, next to nothing from
# the rest. This is **attention**, and the whole course turns around it. The model has
# 72 places where it happens, called **heads**. Here is one of them, asked about the
# word *it*.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: nobody told the model about pronouns. What will happen if the last
# word is *wide*?
#
# Expect: "then it points to the street".
#
# Say: run it. *animal* falls from 69 % to 32 % and is still ahead. It is one head of
# 72, and to see where a model looks is not yet to know what it decides.

# %% tags=["nbval-check-output"]
sentence = "The animal did not cross the street because it was too tired."
show_look(one_head(sentence, layer=3, head=1), "it")

# %% [markdown] slide="skip"
# Nobody programmed that *it* should look at *animal*; the model learned it from text.
# What do you expect if the last word is *wide*? Decide, change the word, and run the
# cell again. Then open this:
#
# <details><summary>What we saw</summary>
#
# The share of *animal* falls from 69 % to 32 %, and that of *street* rises from 5 % to
# 15 %. The arcs do not add up to 100 %, because the model also puts a mark before and
# after each sentence, and the figure leaves out what *it* gives to those two.
# </details>
#
# So this head notices the difference, but it does not settle the question. It is one
# head of 72, and a picture of where a model looks is not yet an explanation of what it
# decides. You compute these very weights in lesson 02, and look through all the heads
# in lesson 03.

# %% [markdown] slide="subslide"
# ### Three: translate a sentence
#
# A translator can't leave the question open. German has to call *it* either *es*, which
# is the animal, or *sie*, which is the street; French has to choose between *il* and
# *elle*. Each of the two models below joins an encoder to a **decoder**, a part that
# writes, and learned its language in two minutes of a processor's time, from sentences
# in which *animal* and *street* never stood together. Which pronouns will they write?

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: *es* or *sie*, *il* or *elle*? Those who know
# German or French, explain what is at stake.
#
# Expect: *sie* and *elle*, for the street. Change *wide* to *tired*, and both change.
#
# Say: these models know 93 nouns and learned for two minutes; lesson 06 trains one.

# %% tags=["nbval-check-output"] slide="fragment"
sentence = "The animal did not cross the street because it was too wide."
for language in ("de", "fr"):
    print(load_translator(language)(sentence))

# %% [markdown] slide="skip"
# *sie*, *elle*: the street. Make it *tired*, and both change the pronoun. That does not
# mean that they know what a street is. Swap the two nouns, *The street did not cross
# the animal ...*, and try *tired* and *wide* again: in German it is now the street that
# is tired, and the animal that is wide. So here the German model lets *tired* go with
# the first noun and *wide* with the second. These models speak a little language of 93
# nouns, 48 verbs and 51 adjectives, so try sentences of everyday things: *has the girl
# read the book*, or *the old woman gave the boy the book*. If they lack a word, they
# say which, and suggest similar ones. They also translate sentences of a form that they
# have never read, but often wrongly. You build the decoder in lesson 05, and train a
# whole translator in lesson 06.

# %% [markdown] slide="subslide"
# ### Four: continue a story
#
# A **language model** has learned one thing only: how likely each word is to come next.
# Draw one word by these odds, add it to the text, ask again, and the model writes. The
# one below has the architecture of GPT-2, at a fiftieth of the size of the smallest
# one, and it has read stories of one small world and nothing else. So give it the
# beginning of a story.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: why three different stories from one beginning?
#
# Expect: "it is creative". No: each was drawn with other random numbers.
#
# Say: it knows one small world, and it shows. Lesson 10 writes such a model, lesson 11
# chooses its next word.

# %% slide="fragment"
beginning = "Mia had a red ball."
for draw in (1, 3, 5):
    print(continued(beginning, draw), end="\n\n")

# %% [markdown] slide="skip"
# Three times the same beginning, three continuations, because each was drawn with other
# random numbers. It sounds like a story, but the model has only learned which words
# tend to follow such a text. Try *It was a cold morning in winter.*, or other numbers
# in `(1, 3, 5)`. You write a GPT in lesson 10, and in lesson 11 you decide how its next
# word is chosen.

# %% [markdown] slide="skip"
# ### Three kinds of model
#
# Transformers come in three kinds, and you have just met all of them:
#
# | kind | what it does | you saw it in | you build it in |
# |---|---|---|---|
# | encoder | reads a text, and gives each word a vector | search, *it* | lesson 04 |
# | encoder and decoder | reads one text, and writes another | translation | 05, 06 |
# | decoder alone | continues a text, word by word | the manual | 10, 11 |
#
# They differ in what a word may look at, and in what they were trained for. The parts
# are much the same, and the most important one, attention, you write in lesson 02.

# %% [markdown] slide="slide"
# ## How a notebook works
#
# All cells are run by one program, the **kernel**, and share its memory: once a cell
# has run, every other cell can use what it defined. That is why the order matters: run
# the cells in another order, and the page may show a result that its code would no
# longer give. When in doubt, choose *Kernel*, *Restart Kernel and Run All Cells* from
# the menu: it forgets everything and starts again at the top.
#
# Code that only draws a figure or guards a number in the text is folded: a bar stands
# in its place, and a click opens it. Run it like any other cell. In later lessons you
# will find `show_figure` there, which puts a picture on the page together with a
# description for those who can't see it. And if a cell does not end, press the square
# in the toolbar (■, interrupt the kernel); your variables stay. Now see whether all
# packages are there:

# %% [markdown] slide="notes"
# **2 minutes.** Say: show it live: run a cell, run an earlier one again, restart and
# run all.
#
# Ask: what does the page show if cells ran in another order than they stand?
#
# Expect: "the last result". Say: a result whose code is gone. So restart and run all
# before you believe a notebook, and before you hand one in.

# %%
print("Python", platform.python_version())
for package in ("torch", "numpy", "matplotlib", "transformers", "ipykernel"):
    print(package, importlib.metadata.version(package))
print("training cells will use:", device())

# %% [markdown] slide="skip"
# Do you see seven lines? Then they are. Should a cell of ours fail later with an error
# that does not come from your own code, let this look for the cause. It changes nothing
# and needs no network, and its last lines are a report that you can copy when you ask
# somebody for help:
#
# ```python
# from helpers.student.doctor import doctor
#
# doctor()
# ```

# %% [markdown] slide="slide"
# ## How a check talks
#
# The lessons are full of exercises. Most of them are a function or a class whose body
# is missing, and below it stands a cell that calls `check` with the number of the
# exercise and with what you wrote. It runs your code on several inputs, compares what
# comes out with the course's own answer, and tells you what it saw. Run both cells
# below just as they are.

# %% [markdown] slide="notes"
# **1 minute.** Say: a check compares results with the course's own on several inputs.
# It never judges style, so a loop is as good as a line.
#
# Ask: what would you like to hear from it when you are wrong?
#
# Expect: "where". Not the solution; hold them to that.

# %% [markdown] exercise="0.A"
# Return the mean of each row: the mean over the **last** axis, whatever comes before
# it.


# %% [markdown] slide="notes"
# **4 minutes.** Say: four times live: as it is, `x.mean(99)`, `x.mean(0)`, and right.
#
# Ask, before each: what will the card say?
#
# Expect: that `mean(0)` counts as nearly right. It has the wrong axis, and the evidence
# on the card shows it.


# %% exercise="0.A"
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
check("0.A", row_means)

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
# A check answers with a card. It bears one of four labels, and you can see all four of
# them here:
#
# 1. **Not attempted.** You saw this, if you changed nothing. The line
#    `raise NotImplementedError` may stay where it is: a `return` before it is enough.
# 2. **Raised.** Write `return x.mean(99)` above that line, run both cells, and read.
# 3. **Wrong.** Now `return x.mean(0)`. The card says first what you did and then where
#    to look; *Evidence* opens on a click and shows the case that proves it.
# 4. **Passed.** Now do it right. The card then counts how many ★ of the lesson you
#    have, and as long as some are left it links to the next one. The exercises with a
#    ★ are the **core path** of the course; the others go further.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: which of the four cards have you seen by now, and which of them
# helps you most?
#
# Expect: all four; opinions differ between *Raised* and *Wrong*.
#
# Say: "wrong" is an answer, too: it says what you did, then where to look.

# %% [markdown] slide="skip"
# What a card says under *What happened* has been tried: it names a mistake only if that
# mistake gave the same as your code in every case, down to the error message. Two
# different slips can raise the same error, though, so where an error is all that can be
# seen the card says *often*. A check judges results and never style, so that loops are
# as good as one-liners; it only needs the names that the exercise gives. It accepts
# numbers that were computed in float32, unless an exercise asks for more, as 0.B below
# does.

# %% [markdown] slide="slide"
# ## When you are stuck, and whose code runs
#
# Open the hints under the exercise, one after the other: a question, then a pointer,
# and often the plan of the answer in words. If they don't help, **borrow** the course's
# answer and go on. In a new cell (press B):
#
# ```python
# row_means = borrow("0.A")
# ```
#
# A borrowed answer is not counted as passed, and you can write your own at any time.
# Nothing else is lost: a cell that needs an answer which you don't have says so in one
# line, and all the others run. (When a program executes your notebook, as a grader
# does, a check that has not passed is an error instead, with the same text.)

# %% [markdown] slide="notes"
# **2 minutes.** Say: hints first, one at a time, then borrow. Nothing is lost by it.
#
# Ask: what is counted as passed after `borrow`?
#
# Expect: "the exercise". It is not; your own answer still can be, at any time.

# %% [markdown] slide="skip"
# What you have solved is put to use. The models that you train take their parts from a
# collection called `mine`, which holds your own answer wherever it has passed its
# check, and the course's version where it has not. A line under the cell says which
# parts are yours, and why one is not, so that you always know whose code has just
# translated a sentence.

# %% [markdown] slide="slide"
# ## Which PyTorch you need
#
# Not much: tensors and how they **broadcast** (an axis of length 1 is repeated to fit a
# longer one), `nn.Linear`, a class that inherits from `nn.Module`, and **autograd**,
# which computes gradients. Here is all of it in two cells. Write down the three shapes
# that the first will print, and then run it. `show` is the course's own `print`: it
# gives a tensor's name, its shape and its numbers, rounded.

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: write down the three shapes.
#
# Expect: (2, 3) and (7, 3, 2); the weight is guessed as (5, 2) and is (2, 5).
#
# Say: who has two of three is ready. The notebook links an hour of reading for the
# others.

# %% tags=["nbval-check-output"] slide="fragment"
column, row = torch.tensor([[10.0], [20.0]]), torch.tensor([1.0, 2.0, 3.0])
show("column + row", column + row)

layer = nn.Linear(5, 2)
print(tuple(layer(torch.zeros(7, 3, 5)).shape), tuple(layer.weight.shape))

# %% [markdown] slide="subslide"
# And which two numbers will this one print?


# %% [markdown] slide="notes"
# **1 minute.** Ask: how many numbers to learn, and which gradient?
#
# Expect: 12, because the layer is used twice; it has 6 all the same. Then 7.
#
# Say: using a layer again does not make a new one. That comes back in lesson 07.


# %% tags=["nbval-check-output"] slide="fragment"
class Twice(nn.Module):
    """A layer from two numbers to two numbers, applied twice."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Apply it: (..., 2) -> (..., 2)."""
        return self.layer(self.layer(x))


print(sum(one.numel() for one in Twice().parameters()), "numbers to learn")

x = torch.tensor(3.0, requires_grad=True)
(x**2 + x).backward()
show("gradient of x² + x at 3", x.grad)

# %% [markdown] slide="skip"
# Were you right about the shapes (2, 3), (7, 3, 2) and (2, 5), the 6 numbers to learn
# and the gradient, 7? Then you know enough. (`nn.Linear(5, 2)` keeps its matrix as
# (out, in). `Twice` uses one layer twice, and that has 2 · 2 weights and 2 numbers
# more.) Where you were not, an hour with PyTorch's own introduction is well spent
# before lesson 01:
# [Tensors](https://docs.pytorch.org/tutorials/beginner/basics/tensorqs_tutorial.html),
# [Broadcasting](https://docs.pytorch.org/docs/stable/notes/broadcasting.html), [Build
# the Neural
# Network](https://docs.pytorch.org/tutorials/beginner/basics/buildmodel_tutorial.html)
# (`nn.Module` and `nn.Linear`) and
# [Autograd](https://docs.pytorch.org/tutorials/beginner/basics/autogradqs_tutorial.html).

# %% [markdown] slide="slide"
# ## One rule before you begin: a new tensor is like its input
#
# One slip is common because nothing warns of it. A tensor has a **dtype**, the kind of
# its numbers, and a **device**, the place where they lie. `torch.zeros(2, 2)` has to
# choose both without knowing what for, and takes float32 and the CPU. Our checks,
# however, mostly call your code with numbers in float64, which has about twice as many
# digits, so that rounding can't be taken for a mistake, nor hide one. What is left of
# 0.1 in float64 when it is copied into a tensor that was made by default?

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: what is left of 0.1?
#
# Expect: "0.1". Half of the digits are gone, and nothing warned.
#
# Say: a new tensor takes its dtype and its device from an input. Exercise 0.B in the
# lab is made for that.

# %% tags=["nbval-check-output"] slide="fragment"
exact = torch.tensor([0.1], dtype=torch.float64)
copied = torch.zeros(1)
copied[:] = exact
print(exact.dtype, f"{exact.item():.17f}")
print(copied.dtype, f"{copied.item():.17f}")

# %% [markdown]
# Half of the digits are gone, and nothing was said. With a GPU it begins in the same
# way: the copy lands on the CPU without a word, and the error comes only later, where
# it meets a model that lies elsewhere. Hence the rule: **a new tensor takes its dtype
# and its device from an input.** `torch.zeros`, `torch.ones`, `torch.full` and
# `torch.arange` all accept `dtype=` and `device=`, every tensor knows its own as
# `x.dtype` and `x.device`, and `x.new_zeros(...)` asks x for you. So does
# `torch.zeros_like(x)`, which also takes the shape of x.

# %% [markdown] exercise="0.B"
# Sentences have different lengths, but a batch needs tables of one length, so the
# shorter ones get rows of zeros at their end. You will meet this **padding** again from
# lesson 02 on. Make x longer, and keep its kind: float64 stays float64, integers stay
# integers, and what lies on another device stays there.


# %% exercise="0.B"
def pad_rows(x: Tensor, length: int) -> Tensor:
    """Put rows of zeros below a table, until it has so many rows.

    Args:
        x: (rows, columns), of any dtype and on any device
        length: rows of the result, at least as many as x has

    Returns:
        (length, columns), with the dtype of x and on its device; gradients get
        through to x.
    """
    ### BEGIN SOLUTION
    padded = torch.zeros(length, x.shape[1], dtype=x.dtype, device=x.device)
    padded[: len(x)] = x
    return padded
    ### END SOLUTION


# %%
check("0.B", pad_rows)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which new tensor do you need: one for the whole result, or one for the rows that are
# missing? What are its shape, its dtype and its device?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `new[:n] = x` copies x into the first n rows; `torch.cat([a, b])` lays b below a.
# Beware: `cat` of two dtypes chooses one of them without telling you.
# </details>

# %% [markdown]
# Many machines have no GPU, so how can a check know what your function does with
# another device? It uses one that PyTorch brings along: on the device `meta` a tensor
# has a shape and a dtype, but no numbers at all. Try your own function on it:

# %%
longer = pad_rows(torch.ones(2, 3, dtype=torch.float16, device="meta"), 5)
print(tuple(longer.shape), longer.dtype, longer.device)

# %% [markdown] slide="slide"
# ## Where your work is
#
# `make lab` copied the notebooks into the folder `work/` and never overwrites what you
# wrote there. When the course brings a newer version of a notebook, your copy is
# replaced if you have only opened or run it; if you changed it, your copy stays, and
# the new version is put beside it under another name. What you have passed is kept in
# the same folder. The cell below draws it, lesson by lesson, and `make progress` prints
# it in a terminal.

# %% [markdown] slide="notes"
# **1 minute.** Say: `work/` is yours, and an update never overwrites what you wrote.
#
# Ask: everybody finds that folder now, and tells a neighbour where it is.
#
# Expect: one or two who opened a notebook somewhere else. Help them at once.

# %% slide="skip"
from helpers.student.overview import progress

progress()

# %% [markdown] slide="skip"
# ## Bugs from the wild
#
# Here are five ways in which notebooks go wrong that have nothing to do with
# transformers. Each of them stood in a notebook that was published.
#
# - **Run out of order.** Two cells are swapped while their author tries things out, and
#   the page is saved. It shows a result *above* the code that made it, and for the next
#   reader the same cells give something else, or an error. One name for two things does
#   the same: where `d` is 3 at the top and 300 further down, an early cell that is run
#   once more takes the wrong one. Restart and run all before you believe a notebook,
#   and before you hand one in.
# - **A line that never ran.** A name is misspelt inside an `if`, and no example in the
#   notebook goes that way. The mistake stays hidden until someone's input takes
#   that branch. So try your code with and without whatever is optional, as our checks
#   do.
# - **A warning that was switched off.** A library prints too much, so somebody silences
#   it for good in the first cell. Ten cells later it would have said that part of a
#   model was not loaded and starts from random numbers. You will see in lesson 09 what
#   this does to a classifier.
# - **A warning that nobody read.** `!pip install transformers` in a cell may bring
#   another version next year. Run after a tokenizer was used, it also prints a warning
#   about forked processes and `TOKENIZERS_PARALLELISM`; and who sees such a box on
#   every run soon reads none of them. Our packages are pinned, and this course shows no
#   warning of its own.
# - **A blank that does not run.** `Q =` with nothing behind it is a SyntaxError until
#   the last blank of the cell is filled. Python has a value for what is still to come,
#   three dots. Our blanks look like this, and they run.

# %% slide="skip" tags=["nbval-check-output"]
Q = ...
print(Q, "is still to be written:", Q is Ellipsis)

# %% [markdown] slide="slide"
# ## Going further
#
# **Random numbers you can repeat.** What is drawn at random should be the same in your
# notebook as in ours. So every lesson begins with a **seed**, the number from which a
# random generator starts, and draws that matter have a generator of their own. Run this
# cell twice: it prints the same.

# %% tags=["nbval-check-output"]
draws = torch.Generator().manual_seed(42)
show("three random numbers", torch.randn(3, generator=draws))

# %% [markdown]
# There are several sources of random numbers, and each has a seed of its own.
# `torch.manual_seed` does nothing for Python's own `random`. Will it start again here?

# %% tags=["nbval-check-output"]
torch.manual_seed(0)
first = random.random()
torch.manual_seed(0)
print("Python's random starts again:", random.random() == first)

# %% [markdown]
# **What else is here.** The list of files at the left also shows three folders of the
# course, for you to read and not to change. `solutions/` holds the model answers, for
# afterwards. `docs/` tells what was measured, and how; its page
# [words](../docs/words.md) lists the letters that stand for sizes, and the words with a
# fixed meaning, for the day when you have forgotten one. `helpers/` is the code that
# the lessons import, with [cards](../helpers/corpora/README.md) for the texts and the
# models that come with the course.

# %% [markdown] slide="skip"
# ### References
#
# Vaswani et al. 2017, *Attention Is All You Need*, arXiv 1706.03762: the paper.
# Alammar, *The Illustrated Transformer*. Weng, *Attention? Attention!*. Rush, *The
# Annotated Transformer*. Karpathy, *Let's build GPT* (video). Gordić's and the Rasa
# whiteboard's videos on attention. Stanford CS224N, winter 2019, lecture 14,
# *Transformers and Self-Attention* (video). Carnegie Mellon 11-785, recitation 11.
# Kaduri, *From N-grams to CodeX*. The TensorFlow chatbot tutorial, for the same model
# in another framework.

# %% [markdown] slide="slide"
# ## What you can do now
#
# You have seen where this goes, you know how to ask a check and what to do when you are
# stuck, and you have a habit that prevents a bug which no error message reports. The
# transformer dates from 2017. Its plan, layers that take turns in mixing words and in
# working on each word alone, is still that of most large language models, while many of
# its parts have been exchanged; it now works on text, images, sound and much else that
# can be cut into a sequence. By the last lesson you will have a GPT of your own, and it
# will write.

# %% [markdown] slide="notes"
# **2 minutes.** Say: the plan of 2017 is still that of most large language models, and
# every lesson builds on the one before.
#
# Ask: which of the lessons are you here for?
#
# Expect: 10 and 11. Say: they are made of 01 to 06, so nobody skips those. Questions.

# %% [markdown]
# ### The way from here
#
# Words as vectors (01); attention (02); several heads (03); an encoder that is BERT
# (04); the decoder (05); masks, and a model that translates (06); recurrent networks,
# which came before (07); translation with and without attention (08); fine-tuning BERT
# (09); a GPT from scratch (10); choosing the next word (11).
#
# **Next: lesson 01**, even if you know word vectors: it also shows how a model is told
# where in the sentence a word stands, and lessons 03 and 04 build on that.
