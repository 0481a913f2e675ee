# %% [markdown] slide="slide"
# # 02 Attention: a soft dictionary
#
# **How can a word take from the other words just what it needs?**
#
# You need: word vectors (lesson 01), the dot product, a little PyTorch.
# Time: {minutes}. Everything runs on your laptop's CPU, without a network.

# %% [markdown] slide="notes"
# **1 minute.** Say: every word has a vector by now, and the vector knows nothing of the
# sentence. Today the words begin to look at each other.
#
# Ask: what did the table of lesson 01 give to *it* in our two sentences?
#
# Expect: "the same vector", from those who did the lesson.

# %% [markdown] slide="slide"
# ## Who was tired?
#
# > The animal did not cross the street because **it** was too tired.
#
# Read it once. Who was tired? You knew at once: the animal. Now change a single word:
# *... because it was too wide.* Suddenly *it* is the street.

# %% [markdown] slide="notes"
# **2 minutes.** Say: read the sentence aloud before anybody can read on.
#
# Ask: who was tired, and how did you know? Then, before you press: will the model
# notice that one word has changed?
#
# Expect: "streets don't get tired"; most bet on a clean switch to *street*.
#
# Say: *animal* falls from 0.69 to 0.32 and stays ahead, *street* rises from 0.05 to
# 0.15. It notices, and it is not sure. This is one head of 72, and we picked it.

# %% [markdown] slide="skip"
# Nothing about the word *it* has changed between the two sentences, and neither has its
# vector: the embedding table of lesson 01 holds one row for *it*, whatever sentence it
# stands in. A model that is to tell the two apart has to do what you just did: look at
# the other words, and take something from the right one. The operation that does this
# is called **attention**. Here is a real pretrained model, whose numbers were learned
# from text, at work on both sentences. Each line with bars will name a word, and say
# how much weight *it* gives to that word. Before you run the two cells, guess: will the
# model notice the change?

# %%
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import show
from helpers.checks import check
from helpers.experiments.one_head import one_head
from helpers.experiments.reversal import (
    OneHeadModel,
    commonest_of_the_others,
    digit_rows,
)
from helpers.figures import attention as draw
from helpers.figures import canvas, heat_map, show_figure
from helpers.figures.play import play
from helpers.models import attention_ways as ways
from helpers.models.attention import attention
from helpers.student.own_parts import OwnParts

_ = torch.manual_seed(2)

# %% tags=["nbval-check-output"] slide="fragment"
TIRED = "The animal did not cross the street because it was too tired."
WIDE = TIRED.replace("tired", "wide")

for sentence in (TIRED, WIDE):
    head = one_head(sentence, layer=3, head=1)
    it = head.tokens.index("it")
    print(sentence)
    for token in ("animal", "street"):
        weight = head.weights[it, head.tokens.index(token)].item()
        print(f"  it <- {token:8}{weight:.2f}", "#" * round(50 * weight))

# %% [markdown] slide="skip"
# In the first sentence more than two thirds of the weight of *it* go to *animal*.
# Replace *tired* by *wide*, and *animal* loses more than half of its share, while
# *street* gets almost three times what it had. The model is not certain, for *animal*
# is still ahead, but in this pair a single adjective has changed where it looks. This
# is one of 72 places in the model where such a look is taken, and we picked it, and the
# sentences, because they show something; still, nobody programmed it. It was learned
# from text. By the end of this lesson you will have written the code that computes
# these numbers, and trained a small head of attention yourself that learns where to
# look while you watch.

# %% [markdown] slide="skip"
# At the end of this lesson you can
#
# - say where the weights of attention come from, and why a word needs three vectors;
# - write scaled dot-product attention with a mask, for any batch;
# - show by an experiment why the scores are divided by √d_head;
# - train a head, and find a wrong one by a test that looks at numbers, not at shapes.

# %% [markdown] slide="notes"
# Leave 2.A, 2.C, 2.D, the bugs and everything below Going further for the lab. Usual
# trouble: the axis of the softmax, and the mask's missing query axis.

# %% [markdown] slide="slide"
# ## A weighted average, if somebody gave us the weights
#
# Start with the simplest idea there is. Every word looks at all words, decides how much
# each of them matters to it, and takes a little of each: much from those that matter,
# almost nothing from the rest.

# %% [markdown] slide="notes"
# **1 minute.** Say: with weights it would be one line of code, so the lesson has a
# single question: where do the weights come from?
#
# Ask: the sentence has 12 words; why 15 tokens?
#
# Expect: the full stop is found, `[CLS]` and `[SEP]` have to be told.

# %% [markdown] slide="skip"
# That is a weighted average of vectors, one line of code if somebody gave us the
# weights. So everything in this lesson answers one question: *where do the weights come
# from?* We shall look for them in the sentence itself, as it is found in the middle of
# that pretrained model. There, each word is a vector of 384 numbers. The model adds two
# marks of its own, `[CLS]` before the text and `[SEP]` behind it, and counts the full
# stop as a word, which makes 15 **tokens** in all. The two *the* differed from the
# start, because each has its position added (lesson 01), and the three layers that have
# worked on these vectors already moved them further apart.

# %% tags=["nbval-check-output"]
head = one_head(TIRED, layer=3, head=1)
tokens, X = head.tokens, head.vectors
it = tokens.index("it")
print(len(tokens), "tokens:", " ".join(tokens))
print("X:", tuple(X.shape))

# %% [markdown] slide="subslide"
# How well do two words go together? Lesson 01 compared words by the cosine, which is
# the dot product divided by the two lengths. Take the dot product alone: it, too, is
# large when two vectors point the same way. So let *it* compare itself with every word
# of the sentence, one at a time, by a loop. Which word do you expect to get the largest
# number? Say it aloud, then run the cell.

# %% [markdown] slide="notes"
# **1 minute.** Ask, before you press: which word should *it* compare best with?
#
# Expect: "animal". It is tenth of the fifteen, and the winner is *it* itself, by far.
#
# Say: let us carry on as if that were no problem, and see where it ends.

# %% tags=["nbval-check-output"] slide="fragment"
plain = torch.stack([X[it] @ x for x in X])  # one dot product for each token
for token, score in zip(tokens, plain, strict=True):
    print(f"{token:10}{score:8.2f}")

# %% [markdown] slide="subslide"
# These numbers are called **scores**. They can't serve as weights yet. One of them is
# negative, they may be of any size, and an average needs weights that are positive and
# add up to 1. Dividing each score by their sum is no way out: `[CLS]` would get a
# weight below zero, and with other numbers the sum itself might be zero. The
# exponential function makes every number positive and keeps their order, and after it
# one may divide by the sum. This is the **softmax**:
#
# $$\mathrm{softmax}(z)_i = \frac{e^{z_i}}{\sum_j e^{z_j}}$$

# %% [markdown] slide="notes"
# **1 minute.** Ask: weights have to be positive and add up to 1. Why not divide each
# score by the sum of all?
#
# Expect: "that would do". Point at −4.53, then ask what happens when the sum is 0.
#
# Say: the exponential makes all numbers positive and keeps their order.

# %% [markdown] slide="slide"
# ## Softmax: from scores to weights
#
# The scores 2, 4 and 5 become the weights 0.0351, 0.2595 and 0.7054: the largest score
# wins, but the others keep something. Typed in just like that, the formula breaks when
# a score is large, and large is not far away: *it* scored 120 with itself, and in
# float32 the exponential overflows just above 88.

# %% [markdown] slide="notes"
# **1 minute.** Ask: the last weight should be as good as 1. Why does it print nan?
#
# Expect: "exp(1000) is infinite"; the second half, infinity by infinity, needs a push.
#
# Say: *it* has scored 120 with itself, so this is no rare case. Exercise 2.A mends it
# in the lab. What happens to a softmax if you add 10 to all its inputs?

# %% tags=["nbval-check-output"]
z = torch.tensor([2.0, 4.0, 5.0])
show("softmax of [2, 4, 5]", z.exp() / z.exp().sum())
z = torch.tensor([2.0, 4.0, 1000.0])
show("softmax of [2, 4, 1000]", z.exp() / z.exp().sum())

# %% [markdown] exercise="2.A"
# exp(1000) is larger than any float, and infinity divided by infinity is not a number.
# Write a softmax that survives this. It works along any axis `dim`, and the gradient
# gets through it to x, because attention will be trained.


# %% exercise="2.A"
def softmax(x: Tensor, dim: int) -> Tensor:
    """Turn numbers into positive shares that sum to 1 along one axis.

    Args:
        x: numbers, any shape
        dim: the axis along which the shares sum to 1

    Returns:
        Shares of the same shape as x. Torch's own softmax would pass, and teach
        you nothing.
    """
    ### BEGIN SOLUTION
    largest = x.amax(dim, keepdim=True)
    exponentials = (x - largest).exp()  # at most 1
    return exponentials / exponentials.sum(dim, keepdim=True)
    ### END SOLUTION


# %%
check("2.A", softmax)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# What happens to the softmax of [2, 4, 5] if you add 10 to all three numbers?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Subtracting the same number from all of z cancels in the fraction. Which number makes
# the exponentials safe? And what does `keepdim=True` do?
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# shift: each slice minus its own maximum; exponentiate; divide each slice by its own
# sum.
# </details>

# %% [markdown] slide="subslide"
# Now *it* has everything for its weighted average. How much will it take from each
# word? (This cell and the next ones use torch's own softmax, so that they run without
# yours.)

# %% [markdown] slide="notes"
# **1 minute.** Ask, and press: how much weight will *it* give to *animal*?
#
# Expect: "a lot". *animal* gets no weight at all, and *it* keeps everything for itself.
#
# Say: the average was right, the comparison was wrong. A word needs what it lacks. If
# *it* could speak, what would it ask the others for?

# %% tags=["nbval-check-output"] slide="fragment"
for token, weight in zip(tokens, plain.softmax(0), strict=True):
    print(f"{token:10}{weight:6.2f}", "#" * round(50 * weight.item()))
assert [round(plain[n].item()) for n in (it, tokens.index("was"))] == [120, 69]
assert (plain > plain[tokens.index("animal")]).sum() == 9
assert round((plain / 384**0.5).softmax(0)[it].item(), 1) == 0.8

# %% [markdown] slide="skip"
# It finds itself, and nothing else. Of 15 tokens the average takes one, and the result
# is the vector that we started from. That is no accident: the dot product of a vector
# with itself is its length squared, and only a much longer vector, or a longer one that
# points nearly the same way, can beat it. *it* scores 120 with itself and 69 with the
# runner-up, *was*. Even if we divide all scores by √384, which is about 20, *it* keeps
# 0.8 of the weight for itself. And look at *animal*, the word that *it* stands for: its
# score is only the tenth of the 15, below *did* and the full stop.

# %% [markdown] slide="skip"
# The idea of a weighted average was right, and the comparison was wrong. As long as one
# vector is both the question and the answer, the score of *it* with *animal* is also
# the score of *animal* with *it*, and of two words at most one can prefer the other to
# itself. But a word needs what it lacks. If *it* could speak, it would say: "I am a
# pronoun, and I need a noun that can be tired." And *animal* would have to answer to
# something like "I am a noun, and alive." These are two descriptions, one of what is
# wanted and one of what is on offer. And what *animal* then hands over need not be
# either of them: to be found as a living thing is one matter, to tell *it* which one is
# another.

# %% [markdown] slide="slide"
# ## Query, key and value
#
# So give every word three vectors instead of one:
#
# - its **query** says what it is looking for,
# - its **key** says what it can be found by,
# - its **value** is what it hands over when it is found.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: must what a word hands over be the same as what it is found by?
#
# Expect: silence. Say: a book is found by its title and read for its pages; you come
# with a question, which is neither.
#
# Say: a dictionary is strict, one key fits or none does. What would a soft one do?

# %% [markdown]
# You know something that works with queries, keys and values: a Python dictionary. It
# compares your query with its keys. One key is equal, so you get its value, which is a
# weight of 1 on one entry and 0 on all others. If no key is equal, `get` has nothing.

# %%
colours = {"apple": "red", "lemon": "yellow", "plum": "blue"}
print(colours["lemon"], colours.get("lime"))

# %% [markdown] slide="subslide"
# A *soft* dictionary compares by dot product and softmax instead, so that every key
# answers a little and the fitting ones loudly. Below, a key is made of two numbers, how
# sweet a fruit is and how sour. Nobody put a *lime* into the dictionary, but we can say
# what it tastes like: hardly sweet, quite sour. Which colour do you expect back?

# %% [markdown] slide="notes"
# **2 minutes.** Ask: which colour comes back for a lime? Let them commit before the
# key.
#
# Expect: "green", from what they know of limes. No value is green: an output is a
# mixture of the values, and of nothing else.
#
# Say: 0.90 of lemon, 0.09 of apple, so a yellow with a little more red than green.

# %% tags=["nbval-check-output"] slide="skip"
keys = torch.tensor([[2.0, 0.0], [0.0, 3.0], [1.0, -2.0]])  # sweet, sour
values = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # R, G, B
lime = torch.tensor([0.2, 0.9])

shares = (keys @ lime).softmax(0)
mixed = shares @ values
show("weights of apple, lemon, plum", shares)
show("output: red, green, blue", mixed)

# %% slide="fragment"
picture = draw.lookup(
    "lime", [*colours], [*colours.values()], shares.tolist(), tuple(mixed.tolist())
)
show_figure(
    picture,
    "A query, lime, is joined to three keys, apple, lemon and plum, whose values are "
    "patches of red, yellow and blue. The line to lemon is by far the thickest, so the "
    "output is a patch of yellow.",
)

# %% [markdown] slide="slide"
# ## Where the three vectors come from
#
# Each is made of the word's own vector x by a matrix, and the three matrices are
# learned:
#
# $$q = x\,W^Q,\quad k = x\,W^K,\quad v = x\,W^V$$

# %% [markdown] slide="notes"
# **2 minutes.** Ask: what in these three formulas is learned?
#
# Expect: "q, k and v".
#
# Say: the three matrices are learned; q, k and v are computed from each sentence.
# Here they turn 384 numbers into 32. Before you go on, ask who wins now, with the query
# of *it* and the keys of all.

# %% [markdown] slide="skip"
# That turns out to be enough. The matrix $W^Q$ can turn the vector of *it* into a
# question, $W^K$ can turn the vector of *animal* into an offer, and training moves both
# matrices until the questions find their answers. The three results are shorter than
# what they are made of, here 32 numbers instead of 384, so that many such heads find
# room beside each other (lesson 03 is about that). A **head** is one set of three such
# matrices and all that is done with them. (Models of the BERT family, this one among
# them, also add a learned vector to each result, a **bias**. The formula has none.)

# %% slide="fragment"
words = ["animal", "street", "it", "was", "too", "tired"]
show_figure(
    draw.flow(words, 2, "projections"),
    "The vectors of six words are the rows of a matrix X. Three arrows, labelled W Q, "
    "W K and W V, lead from it to three narrower matrices Q, K and V with a row for "
    "each word. What follows is only outlined: scores, weights, output.",
)

# %% [markdown] slide="skip"
# Now ask again, with the query of *it* and the keys of all tokens, as this model has
# learned them. The loop is the same as before but for two things: query and key are
# different vectors, and each score is divided by √32, because each of the two has 32
# numbers. Why that is done is a question for later in this lesson. Which word will win,
# and how much will *it* keep for itself this time?

# %% tags=["nbval-check-output"] slide="subslide"
query = head.query[it]  # what *it* is looking for: 32 numbers
scores = torch.stack([query @ key for key in head.key]) / 32**0.5
weights = scores.softmax(0)
output = sum(weight * value for weight, value in zip(weights, head.value, strict=True))

for token, score, weight in zip(tokens, scores, weights, strict=True):
    print(f"{token:10}{score:6.2f}{weight:6.2f}", "#" * round(50 * weight.item()))
print("output:", tuple(output.shape))
assert weights.argmax() == tokens.index("animal")
assert (weights - head.weights[it]).abs().max() < 1e-5

# %% [markdown] slide="notes"
# **2 minutes.** Say: the same loop as before, with two changes: query and key are
# different vectors, and each score is divided by √32, for a reason that comes later.
#
# Ask: how much does *it* keep for itself now?
#
# Expect: nobody guesses as little as 0.06. *animal* has 0.69, the number of the first
# slide: these are the library's own weights, by a loop of ours.

# %% [markdown] slide="subslide"
# There it is: the value of *animal* gets a weight of 0.69 (without the biases it would
# be 0.68), and *it* keeps only 0.06 for itself. You have computed by a loop, from the
# query, the keys and the values, precisely what the library computes: these weights are
# those that this lesson began with. The output, 32 numbers, is what this head tells the
# rest of the model about *it*.

# %% [markdown] slide="notes"
# **1 minute.** Say: one row of Q meets all rows of K, and becomes one row of weights.
#
# Ask: what in the diagram is still pale, and what feeds it?
#
# Expect: "the output", and half of them forget that V goes there past the softmax.

# %% slide="fragment"
show_figure(
    draw.flow(words, 2, "scores"),
    "The same diagram one step further. The row of Q that belongs to the word it meets "
    "all rows of K: one row of scores. A softmax turns it into one row of weights.",
)

# %% [markdown] slide="slide"
# ## All words at once
#
# The query of *it* asks all keys, and so does the query of every other word. Put the
# queries into the rows of a matrix Q, the keys into K, the values into V:
#
# $$\mathrm{Attention}(Q, K, V) =
# \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_{head}}}\right) V$$
#
# (Vaswani et al. 2017, section 3.2.1)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: for our 15 tokens, what is the shape of the scores? Along which
# axis does the softmax run?
#
# Expect: (15, 15); for the axis the votes are split. Say: each word has one whole to
# spend, so each row adds up to 1.
#
# Say: read the formula from the inside, with a finger on the diagram.

# %%
show_figure(
    draw.flow(words, 2, "output"),
    "The whole diagram in colour: X becomes Q, K and V; Q times K transposed, divided "
    "by the root of d head, gives the scores, a softmax over each row the weights, and "
    "weights times V the output, with a row for each word.",
)

# %% [markdown] slide="skip"
# Read the formula from the inside. $QK^\top$ is a table that holds every query's dot
# product with every key, so that row *i* belongs to word *i*: fifteen loops in one
# product of matrices. The number under the root, d_head, is the width of a query, 32
# above. The softmax works along each row, because the weights of each word have to add
# up to 1. The product with V is the weighted average, again for all words at once. This
# is **scaled dot-product attention**, and because queries and keys come from the same
# sentence, it is **self-attention**. What the loop found for *it* must be in that
# table. In which row? Say the table's shape as well, then run the cell.

# %% tags=["nbval-check-output"] slide="skip"
table = head.query @ head.key.T / 32**0.5  # (15, 32) @ (32, 15) -> (15, 15)
print("table:", tuple(table.shape))
print("row", it, "is the loop's:", torch.allclose(table[it], scores, atol=1e-4))

# %% [markdown] slide="subslide"
# Do it by hand once; take a pencil. The first three lines of the next cell hold two
# words, each with a query and a key of three numbers and a value of two: multiply,
# divide by √3, apply the softmax, mix. Then run the cells and compare.

# %% [markdown] slide="notes"
# **3 minutes.** Ask: the scores are given. Everybody works out the second row of
# weights with a pencil; e to the power 1.1547 is 3.17.
#
# Expect: they raise e to both scores and add up.
#
# Say: only the difference counts, and it is 1.1547: so 3.17 / 4.17, which is 0.76. Then
# press for the solution.

# %% tags=["nbval-check-output"]
Q = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
K = torch.tensor([[1.0, 2.0, 1.0], [2.0, 1.0, 0.0]])
V = torch.tensor([[0.5, 0.8], [0.2, 0.3]])

hand_scores = Q @ K.T / 3**0.5  # (2, 3) @ (3, 2) -> (2, 2)
show("scores", hand_scores)

# %% tags=["nbval-check-output"] slide="fragment"
hand_weights = hand_scores.softmax(-1)  # each row sums to 1
show("weights", hand_weights)
show("output", hand_weights @ V)  # (2, 2) @ (2, 2) -> (2, 2)

# %% [markdown] slide="skip"
# The first word finds both keys equally good and takes the plain mean of the values.
# The second takes 0.7604 of the first word's value and 0.2396 of its own.

# %% [markdown] slide="subslide"
# Two things are missing before you write the function. Sentences come in **batches**,
# many at a time, so that a tensor of queries has more axes. And there may be words that
# a query must not see, such as the padding that makes all sentences of a batch equally
# long. A **mask** says which: where it is False, the score is replaced by minus
# infinity just before the softmax. Suppose *it* may not see *animal*. Which word takes
# over? Say it, then run the cell.

# %% tags=["nbval-check-output"] slide="skip"
may_attend = torch.tensor([token != "animal" for token in tokens])
masked = scores.masked_fill(~may_attend, float("-inf")).softmax(0)
for token, before, after in zip(tokens, weights, masked, strict=True):
    print(f"{token:10}{before:6.2f}{after:6.2f}", "#" * round(50 * after.item()))
rest = 1 - weights[tokens.index("animal")].item()
assert [tokens[n] for n in masked.topk(2).indices] == ["[CLS]", "it"]
assert (round(rest, 2), round(1 / rest, 1)) == (0.31, 3.2)

# %% [markdown] slide="skip"
# Not *street*: `[CLS]` leads now, and *it* itself comes second. The exponential of
# minus infinity is zero, so *animal* has a weight of exactly zero, and because the
# softmax divides by the sum of what remains, every other weight is 3.2 times what it
# was, and all still add up to 1. Setting the weight itself to zero, after the softmax,
# would have left a row that adds up to 0.31.

# %% [markdown] slide="notes"
# **1 minute.** Ask: why minus infinity before the softmax, and not zero after it?
#
# Expect: "it is the same". Say: then the row would no longer add up to 1.
#
# Say: True means "may attend". Other libraries mean the opposite, so always look.

# %% [markdown]
# The shapes in comments are written with the same letters in every lesson. A batch of B
# sentences with T words of D numbers (d_model) is (B, T, D). Its queries are (B, T, K).
# In formulas K is a matrix; in shapes it is a number, d_head, which the paper calls
# d_k. With H heads the queries are (B, H, T, K). S is the number of keys, in
# self-attention the same as T, and W is the width of a value. A mask is boolean, and
# True means "may attend".

# %% [markdown] exercise="2.B"
# Write the formula as a function. Return both the output and the weights, because you
# will want to look at the weights. It must work for one sequence (T, K), for a batch
# (B, T, K) and for a batch of heads (B, H, T, K): count axes from the end. In a mask,
# **True means "may attend"**.


# %% [markdown] slide="notes"
# **7 minutes.** Say: you dictate, I type. Write it live from the stub, with the check
# below it.
#
# Ask, after each line: what is its shape? For a batch of heads, too?
#
# Expect: `.T`, which turns all axes of a batch; a softmax along the queries; a mask
# that is filled where it is True. Make two of them and let the check talk.


# %% exercise="2.B"
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Mix the values, each weighted by how well its key answers the query.

    Args:
        query: (..., T, K)
        key: (..., S, K)
        value: (..., S, W)
        mask: boolean, True = may attend, broadcasts to (..., T, S)

    Returns:
        output (..., T, W), weights (..., T, S)
    """
    d_head = query.shape[-1]
    ### BEGIN SOLUTION
    #: scores = ...  # (..., T, S)
    #: weights = ...  # (..., T, S), each row sums to 1
    scores = query @ key.mT / d_head**0.5  # (..., T, S)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)  # (..., T, S)
    return weights @ value, weights
    ### END SOLUTION


# %%
check("2.B", scaled_dot_product_attention)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# `query` is (..., T, K), `key` is (..., S, K), the scores are (..., T, S). Over which
# axis does the product sum, and how must `key` be turned for that?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `key.mT` swaps the last two axes, whatever comes before them, and `d_head**0.5` is the
# root. `masked_fill` wants True where it fills, and `~mask` turns every True and False
# round. Minus infinity is `float("-inf")`.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# scores: dot product of each query with each key, divided by the root of d_head; where
# the mask is False: minus infinity; weights: softmax over the keys; output: weights
# times value.
# </details>

# %% [markdown] slide="slide"
# ## See it on something real
#
# Your function gets the queries, keys and values of the real head. Its weights stand
# beside those that the library `transformers` computed.

# %% [markdown] slide="notes"
# **1 minute.** Ask: find the row of *it*. What does *cross* look for? Which column do
# most rows share?
#
# Expect: *animal*, *street*, `[CLS]`. Why so many words want that one is for lesson 03.
#
# Say: these are your numbers, equal to the library's. A sentence of theirs is in the
# appendix, if there is time.

# %%
_, mine_weights = scaled_dot_product_attention(head.query, head.key, head.value)
show("largest difference from the library", (mine_weights - head.weights).abs().max())

# %% [markdown] slide="skip"
# So the picture below, drawn from the library's weights, shows yours as well. Each row
# is a word that asks, each column a word that is asked. Find the row of *it*, then that
# of *cross*: what does *cross* look for? And then the column that most rows have in
# common. Why might so many words look at `[CLS]`? Lesson 03 has an answer.

# %%
figure, (axes,) = canvas(6.5, 5.5)
heat_map(axes, head.weights, tokens, tokens, "layer 3, head 1", numbers=False)
show_figure(
    figure,
    "Attention of every token of the sentence to every other. The row of the word it "
    "is darkest at the column animal, that of cross at street, and eight of the 15 "
    "rows give more than half of their weight to [CLS].",
)
most = [tokens[column] for column in head.weights.argmax(1)]  # for each row
assert most[it] == "animal" and most[tokens.index("cross")] == "street"
assert (head.weights[:, 0] > 0.5).sum() == 8

# %% slide="subslide"
inner = slice(1, -2)  # without [CLS], the full stop and [SEP]
show_figure(
    draw.in_motion(head.weights[inner, inner], tokens[inner], "it"),
    "An animation: one word after the other asks, and lines as thick as its weights "
    "lead to the words it attends to. The thickest from the word it leads to animal.",
)

# %% [markdown]
# Now it is your turn. In the sentence below *they* hesitates between two nouns. Replace
# *full* by *bored*, or write a sentence of your own, and say which word is to ask (in
# small letters: this model knows no others). It has 6 layers, 0 to 5, with 12 heads
# each, 0 to 11. Try some of them. Can you say in words what a head looks for? And you
# can catch the head below in a mistake. Let *it* ask in *The trophy does not fit in the
# suitcase because it is too big*: the head prefers the trophy, which is right. With
# *small* it should be the suitcase, and the head prefers the trophy even more.

# %%
sentence = "The children fed the ducks until they were full."
asking, layer, number = "they", 3, 1

yours = one_head(sentence, layer=layer, head=number)
for token, weight in zip(yours.tokens, yours.asked_by(asking), strict=True):
    print(f"{token:10}{weight:6.2f}", "#" * round(50 * weight.item()))

# %% [markdown] slide="slide"
# ## Why divide by √d_head?
#
# A dot product adds up d_head products. The more numbers the vectors have, the further
# the scores spread, and of scores that are far apart the softmax makes a single winner.

# %% [markdown] slide="notes"
# **3 minutes.** Ask, before you press: a score is the sum of 64 products, each of
# variance 1. What is its variance, and its standard deviation?
#
# Expect: 64 comes quickly, 8 needs a moment. e to the 8 is almost 3,000.
#
# Say: the middle plot turns the average into a choice, the right one takes away the
# slope that training needs. It is the spread, not overflow.

# %% [markdown] slide="skip"
# Suppose the numbers in queries and keys are independent, with mean 0 and variance 1.
# Then each product has variance 1 as well, and the score, a sum of d_head of them, has
# variance d_head. With d_head = 64 the scores have a standard deviation of 8, and $e^8$
# is almost 3,000. Two things go wrong at once. The winner takes all, so that the
# average is no average any more. And where a weight p is nearly 1 or nearly 0, the
# slope of the softmax, its derivative p (1 − p), is nearly 0: the scores may move, but
# the weights don't, so the gradient that reaches them is tiny and there is hardly
# anything left to learn from. Measure it on random vectors, for heads of different
# width:

# %% tags=["nbval-check-output"] slide="skip"
widths = [1, 4, 16, 64, 256, 1024]
names = ("variance", "largest", "slope")
measured = {name + end: [] for name in names for end in ("", " scaled")}
draws = torch.Generator().manual_seed(0)

for d_head in widths:
    q, k = (torch.randn(4000, n, d_head, generator=draws) for n in (1, 16))
    raw = (q * k).sum(-1)  # 4,000 queries, 16 keys each
    for end, some in (("", raw), (" scaled", raw / d_head**0.5)):
        shares = some.softmax(-1)
        measured["variance" + end].append(some.var().item())
        measured["largest" + end].append(shares.amax(-1).mean().item())
        measured["slope" + end].append((shares * (1 - shares)).mean().item())

print(f"{'d_head':16}", *(f"{d_head:8}" for d_head in widths))
for name in ("variance", "variance scaled", "largest", "largest scaled"):
    print(f"{name:16}", *(f"{number:8.2f}" for number in measured[name]))
ratios = torch.tensor(measured["variance"]) / torch.tensor(widths)
assert (ratios - 1).abs().max() < 0.1  # the variance is d_head

# %% slide="fragment"
show_figure(
    draw.scale_curves(widths, measured),
    "Against d_head from 1 to 1024: the variance of raw scores grows in proportion, "
    "that of scaled ones stays at 1; without the scale the largest weight grows to "
    "nearly 1 and the mean slope p(1-p) falls.",
)

# %% [markdown] slide="skip"
# For such numbers, dividing by √d_head takes the spread back to 1, whatever the width.
# This is not about numbers too large for the computer. It is the *spread* of the scores
# that grows with the width of the head, and with it the softmax turns from an average
# into a choice. Training can get over it while a head is small: the one that you train
# below learns its task without the root as well.

# %% [markdown] slide="skip"
# Now change d_head with your own hand. Below, one query meets eight keys of random
# numbers. Leave the scores divided by *nothing*, pull d_head down to 1 and push it up
# again, and watch one key take everything while the slope runs out. In another random
# draw two or three keys may share it, but most of the eight get almost nothing. Which
# of the other divisors do you expect to help? Choose √d_head, then d_head itself, and
# push again each time. One of them keeps the scores at their size. With the other, all
# eight weights of a wide head become nearly equal, so that an untrained head points at
# nothing.

# %% slide="subslide"
play(draw.sharpness())

# %% [markdown] slide="notes"
# **2 minutes.** Say: open the notebook here, leave the scores divided by nothing, and
# push d_head up. One key takes everything.
#
# Ask: which divisor helps, √d_head or d_head itself?
#
# Expect: some think that more is better. With d_head all eight weights of a wide head
# become nearly equal, and an untrained head points at nothing.

# %% [markdown] slide="slide"
# ## A head that can be trained
#
# So far the three matrices came out of a finished model. To learn our own we need
# matrices that training can change.

# %% [markdown] slide="notes"
# **1 minute.** Say: `nn.Linear` is a matrix that training may change, applied to the
# last axis, whatever stands before it. Three of them make a head: exercise 2.C, in the
# lab.
#
# Ask: from 4 numbers to 3, so why is the weight (3, 4)?
#
# Expect: "a mistake?" It is stored as (out, in); hence the `.T`.

# %% [markdown] slide="skip"
# In PyTorch that is `nn.Linear(d_in, d_out, bias=False)`. It holds a matrix of random
# numbers, its **initial weights**, and when you call it with vectors, it multiplies
# them by that matrix, whatever axes stand before the last one. (With `bias=True`, the
# default, it adds a bias as well.) It keeps the matrix as (d_out, d_in), which is why
# `.T` appears here:

# %% tags=["nbval-check-output"]
to_query = nn.Linear(4, 3, bias=False)
some_words = torch.randn(2, 5, 4)  # (B, T, D)
print("weight:", tuple(to_query.weight.shape))
print("result:", tuple(to_query(some_words).shape))
by_hand = some_words @ to_query.weight.T
print("the same by hand:", torch.allclose(to_query(some_words), by_hand, atol=1e-6))

# %% [markdown] exercise="2.C"
# Write self-attention as a module: three `nn.Linear` layers, without a bias as in the
# formula (the check accepts one), and your function from 2.B (or `attention(...,
# need_weights=True)` from `helpers.models`). The mask that comes in has the shape (B,
# T) and says which tokens are real; nobody may attend to the others.


# %% exercise="2.C"
class SelfAttention(nn.Module):
    """One head of self-attention.

    Args:
        d_model: width of the vectors that come in
        d_head: width of query, key and value
    """

    def __init__(self, d_model: int, d_head: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.W_q = nn.Linear(d_model, d_head, bias=False)
        self.W_k = nn.Linear(d_model, d_head, bias=False)
        self.W_v = nn.Linear(d_model, d_head, bias=False)
        ### END SOLUTION

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Let every token look at every real token.

        Args:
            x: (B, T, D)
            mask: (B, T), boolean, True = a real token

        Returns:
            output (B, T, K), weights (B, T, T)
        """
        ### BEGIN SOLUTION
        #: query = ...  # (B, T, K)
        query, key, value = self.W_q(x), self.W_k(x), self.W_v(x)  # (B, T, K)
        if mask is not None:
            mask = mask[:, None, :]  # (B, T=1, S): the same keys for every query
        return attention(query, key, value, mask, need_weights=True)
        ### END SOLUTION


# %%
check("2.C", SelfAttention)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# The scores are (B, T, S), the mask is (B, S). Right-aligned under each other, which
# axis of the scores does the mask's batch axis meet?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Indexing with `None` inserts an axis of size 1.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# project x three times; give the mask a query axis of size 1; call attention; return
# both.
# </details>

# %% [markdown]
# A new head with its initial weights, on 16 sentences of 32 random vectors:

# %%
dummy = torch.randn(16, 32, 64)  # (B, T, D)
output, weights = SelfAttention(d_model=64, d_head=16)(dummy)
print(tuple(output.shape), tuple(weights.shape))

# %% [markdown] slide="slide"
# ## One head learns where to look
#
# A toy task, so small that you can watch: read eight digits, and write them backwards.
#
# > 3 1 4 1 5 9 2 6 → 6 2 9 5 1 4 1 3

# %% [markdown] slide="notes"
# **1 minute.** Say: nobody tells the head where to look; it sees rows, and what they
# should become.
#
# Ask: draw the map of its weights in the air, query down, key across.
#
# Expect: arms in both directions. Let two of them argue before you go on.

# %% [markdown]
# A model's first output must come from the last digit, its second from the last but
# one, and so on. Nobody tells it so. It sees rows of digits and what they should
# become, and starts from random matrices. The model is as simple as can be: each digit
# becomes a vector, each position adds a vector of its own (lesson 01 made it of sines,
# here it is learned), **your head** mixes them, and a last layer turns each of the
# eight results into ten scores, one for each digit. (They are logits, as in lesson 01.)
# What do you expect the map of its weights to look like, once it can do it?

# %% [markdown] slide="skip"
# The training loop is the one of lesson 01, and you will meet it in every lesson from
# now on. The **cross-entropy** says how wrong the logits are; this number is the
# **loss**. `backward` computes how each parameter would have to change to lower it, the
# **optimizer** (here one called Adam) takes a small step that way, and the **learning
# rate** sets the size of the step. The lines with `mine` decide which class the model
# is built from: yours if your 2.C has passed, and the course's version until then.


# %% slide="skip"
def target(rows: Tensor) -> Tensor:
    """What rows of digits (B, T) should become."""
    return rows.flip(1)


# %% slide="skip"
def one_step(head: type[nn.Module]) -> None:
    """What a step of training does, for a model with such a head."""
    (rows,) = digit_rows(1, size=64, seed=0)
    logits, _ = OneHeadModel(head)(rows)
    F.cross_entropy(logits.mT, target(rows)).backward()


mine = OwnParts()
mine.take("2.C", SelfAttention, step=one_step)

_ = torch.manual_seed(0)
model = OneHeadModel(mine.SelfAttention)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
example = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
losses, maps = [], {}

steps = 200
for step, rows in enumerate(digit_rows(steps, size=64, seed=0), start=1):
    logits, _ = model(rows)  # (B, T, 10)
    loss = F.cross_entropy(logits.mT, target(rows))  # it wants the ten on axis 1
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step in (1, 30, 60, steps):
        maps[step] = model(example)[1][0].detach()  # (T, T)

print("read: ", example[0].tolist())
print("wrote:", model(example)[0].argmax(-1)[0].tolist())

# %% slide="subslide"
show_figure(
    draw.learning(losses, maps),
    "Left, the loss falls from about 2.3 to nearly 0 within 200 steps. Right, the "
    "weights after 1, 30, 60 and 200 steps: pale and without a pattern at first, then "
    "a dark line from the top right to the bottom left, the anti-diagonal.",
)

# %% [markdown] slide="notes"
# **2 minutes.** Say: run it live if you can, 200 steps; the loop is that of lesson 01.
#
# Ask: at which step can it reverse? Look at the map, then at the loss.
#
# Expect: step 60 by the map, while the loss still has some way to go.

# %% [markdown]
# The head has found out, from examples alone, that the first position should look at
# the eighth, the second at the seventh, and so on down the **anti-diagonal**. After a
# single step, still close to the initial weights, no position had found its partner.
# Count how often it is right on rows that it has not been trained on:

# %% tags=["nbval-check-output"]
(unseen,) = digit_rows(1, size=1000, seed=1)
right = (model(unseen)[0].argmax(-1) == target(unseen)).float().mean().item()
print(f"right: {right:.2f}")

# %% [markdown] slide="subslide"
# Now take something away. Leave out the vectors of the positions, so that a digit is
# the same vector wherever it stands. Attention itself has no idea of order: a score
# compares two vectors and never asks where they stand. Can the head still learn to
# reverse? If not, how often will it be right, given that it can still see *which*
# digits there are? Guess both before you run it. To be fair, this model gets three
# times as many steps, and larger ones.

# %% [markdown] slide="notes"
# **1 minute.** Ask: can it learn to reverse without positions? How often will it be
# right?
#
# Expect: "one in ten, chance". Press: about a third.
#
# Say: it sees which digits there are, though not where, so the best that it can do is
# name the commonest of the other seven.

# %% slide="fragment"
_ = torch.manual_seed(0)
blind = OneHeadModel(mine.SelfAttention, with_positions=False)
optimizer = torch.optim.Adam(blind.parameters(), lr=0.003)
for rows in digit_rows(600, size=64, seed=0):
    loss = F.cross_entropy(blind(rows)[0].mT, rows.flip(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

lost = (blind(unseen)[0].argmax(-1) == unseen.flip(1)).float().mean().item()
print(f"right, without positions: {lost:.2f}")
print(f"always say the commonest of the others: {commonest_of_the_others(unseen):.2f}")
assert abs(lost - commonest_of_the_others(unseen)) < 0.03

# %% [markdown] slide="skip"
# It gets about a third right. As the row has an even number of digits, the one that is
# wanted is always one of the seven others, and whoever does not know their order can do
# no better, on average, than to name the commonest of them. So this head needs
# vectors of the positions: without them it learns what is there, and not where.

# %% [markdown] slide="subslide"
# Before you go on, play with the first model, the one that knows its positions. Let
# `target` return `rows.roll(1, 1)`, which moves every digit one position to the right,
# and run the cells again: what will the map look like? Then try `rows.sort(1).values`,
# where the place of a digit depends on all the others. After 200 steps ours had about
# six digits in ten right. What do 1,000 `steps` make of it?
#
# <details><summary>What we saw</summary>
#
# For `roll`, a dark line just beside the diagonal, and the first position looks at the
# last. For the sorted digits, well over nine in ten right after 1,000 steps, although
# no single place is the right one to look at.
# </details>

# %% [markdown] slide="slide"
# ## How do you know that it is right?
#
# Attention that is wrong has the right shapes, too. Here is a function with a mistake
# in it. Would you have seen it?


# %% [markdown] slide="notes"
# **1 minute.** Ask: thirty seconds, where is the mistake?
#
# Expect: the eyes go to the transpose, which is right. The root comes after the
# softmax.
#
# Say: all shapes are right, and no error is raised. Exercise 2.D in the lab is a test
# that catches it; ask for one fact that it could look at.


# %% locked=true
def suspicious_attention(query, key, value):
    """Take (T, K), (S, K), (S, W); return output and weights."""
    weights = (query @ key.mT).softmax(-1)
    weights = weights / query.shape[-1] ** 0.5
    mixed = weights @ value
    return mixed, weights


# %% [markdown] exercise="2.D"
# Write a **test** that finds such mistakes. `looks_healthy(attend)` calls any attention
# function (query, key, value) → (output, weights) on numbers of your choice, and
# returns False if it does not behave. It will meet nine functions, and the one above is
# only one of the wrong ones. Two facts will do, one about the weights and one about the
# output. (They show that something is not an average. Attention that ignores its query
# would still pass, which is why your 2.B was checked against numbers.)


# %% exercise="2.D"
def looks_healthy(attend) -> bool:
    """Test an attention function.

    Args:
        attend: takes query (T, K), key (S, K), value (S, W), returns (output, weights)

    Returns:
        True if it passes, False if something is wrong with it.
    """
    query, key = torch.randn(5, 16), torch.randn(7, 16)
    ### BEGIN SOLUTION
    value = torch.full((7, 3), 2.5)  # whatever the weights, the mean of 2.5 is 2.5
    output, weights = attend(query, key, value)
    rows_fit = torch.allclose(weights.sum(-1), torch.ones(5))
    return rows_fit and torch.allclose(output, torch.full((5, 3), 2.5))
    ### END SOLUTION


# %%
check("2.D", looks_healthy)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# If all values are the same vector, what must every output be?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `torch.allclose` compares with room for rounding. A constant of 0 proves nothing.
# </details>

# %%
print("suspicious_attention is healthy:", looks_healthy(suspicious_attention))

# %% [markdown]
# The division came after the softmax instead of before. With d_head = 16 every row sums
# to a quarter, and the weights are as one-sided as if nothing had been divided.

# %% tags=["nbval-check-output"]
ones = torch.ones(5, 16)
_, late = suspicious_attention(ones, ones, ones)
show("rows sum to", late.sum(-1))

# %% [markdown] slide="slide"
# ## Bugs from the wild
#
# Two mistakes from published code. Neither of them has to raise an error.

# %% [markdown]
# **The square trap.** What if the mask of 2.C keeps its shape (B, T) instead of getting
# an axis for the queries? With 16 sequences of 32 tokens torch complains. With 4
# sequences of 4 tokens it does not: the mask of *sequence* j is taken for *query* j.
# Only sequence 0 has padding in this cell, yet all four change.

# %% tags=["nbval-check-output"] locked=true
square = torch.randn(4, 4, 8, generator=torch.Generator().manual_seed(1))  # B = T = 4
real = torch.ones(4, 4, dtype=torch.bool)
real[0, 2:] = False  # two tokens of sequence 0 are padding
whole = attention(square, square, square)

for name, some in (("(B, T)", real), ("(B, 1, T)", real[:, None, :])):
    change = attention(square, square, square, some) - whole  # (B, T, K)
    touched = change.abs().amax((1, 2)) > 1e-6  # (B,)
    print(f"{name:10} sequences changed: {touched.nonzero().flatten().tolist()}")

# %% [markdown]
# Shapes alone would never have told. When you test code like this, use sizes that all
# differ, and try equal ones as well.

# %% [markdown] exercise="2.E"
# **The wrong root.** This function takes the root of `Q.shape[0]`. It was shown with
# five tokens of width 1. By which **factor** are its scores (not its weights) too small
# there? Store a number.


# %% locked=true tags=["nbval-check-output"]
def wrong_root(Q, K, V):
    """Take (T, K), (S, K), (S, W); return output and weights."""
    d_k = torch.tensor(Q.shape[0])  # 5
    weights = F.softmax(Q @ K.T / torch.sqrt(d_k), dim=1)
    return weights @ V, weights


five = torch.tensor([[0.3], [-0.4], [1.1], [0.6], [-0.2]])  # (T=5, K=1)
_, found_weights = wrong_root(five, five, five)
_, right_weights = attention(five, five, five, need_weights=True)
show("largest weight, wrong root", found_weights.max())
show("largest weight, right", right_weights.max())

# %% exercise="2.E"
### BEGIN SOLUTION
too_small_by = 5**0.5  # divided by the root of 5 tokens instead of the root of width 1
### END SOLUTION

# %%
check("2.E", too_small_by)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# By which number should these scores be divided, and by which are they?
# </details>

# %% [markdown]
# Its rows sum to 1, so a test of the rows alone is content. A better one: show the same
# function a longer text. How two words compare must not depend on how many others there
# are. Here is the ratio of two weights of one row, for five tokens and for the same
# five twice:

# %% tags=["nbval-check-output"]
for name, function in (("wrong", wrong_root), ("right", attention)):
    more = {"need_weights": True} if function is attention else {}
    for some in (five, torch.cat([five, five])):
        _, weights = function(some, some, some, **more)
        show(f"{name:5} {len(some):2} tokens, ratio", weights[2, 2] / weights[2, 0])

# %% [markdown] slide="slide"
# ## Going further
#
# From here on everything is optional. You have the whole of attention; what follows
# looks at the slope of the softmax, at other people's code, at what attention costs,
# and at a few odd cases.

# %% [markdown]
# ### The slope of a softmax

# %% [markdown] exercise="2.F"
# How much slope is left when a winner takes all? If $p = \mathrm{softmax}(z)$, then
# $\partial p_i / \partial z_j$ is $p_i (1 - p_i)$ where $i = j$, and $-p_i p_j$
# elsewhere. Write the whole table of slopes; it is called the **Jacobian** of the
# softmax.


# %% exercise="2.F"
def softmax_jacobian(z: Tensor) -> Tensor:
    """How each share of a softmax moves with each of its inputs.

    Args:
        z: (n,)

    Returns:
        (n, n): row i, column j holds dp_i / dz_j. Autograd would do it for you;
        write it yourself.
    """
    ### BEGIN SOLUTION
    shares = z.softmax(-1)
    return torch.diag(shares) - torch.outer(shares, shares)
    ### END SOLUTION


# %%
check("2.F", softmax_jacobian)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which matrix has −p_i p_j everywhere, and what must be added on its diagonal?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `torch.outer` gives all products of two vectors, `torch.diag` puts a vector on a
# diagonal.
# </details>

# %% [markdown]
# Here is what dividing the scores by 2 does to the first row of this table, when one of
# four scores is far ahead:

# %% tags=["nbval-check-output"]
z = torch.tensor([1.0, 20.0, 3.0, 4.0], dtype=torch.float64)
jacobian = torch.autograd.functional.jacobian(lambda z: z.softmax(0), z)
print("unscaled:", *(f"{slope:.2e}" for slope in jacobian[0]))
jacobian = torch.autograd.functional.jacobian(lambda z: z.softmax(0), z / 2)
print("halved:  ", *(f"{slope:.2e}" for slope in jacobian[0]))

# %% [markdown]
# Halving these four scores makes the first slope more than ten thousand times larger:
# from 5.60e-09 to 7.48e-05.

# %% [markdown] exercise="2.G"
# Suppose a notebook prints this row of a softmax's Jacobian: `[0.0001, -2.7149,
# -1.1240e-07, -3.0553]`. No computer needed: which entries are impossible for the slope
# of a softmax? Give their places, counted from 0, as a tuple.

# %% exercise="2.G"
### BEGIN SOLUTION
impossible_entries = (1, 3)  # no product of two shares exceeds 1/4
### END SOLUTION

# %%
check("2.G", impossible_entries)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# p_i and p_j are positive and together at most 1. How large can their product be?
# </details>

# %% [markdown]
# ### A cell that was run again

# %% [markdown] exercise="2.H"
# A notebook shows the scores of one query (less a constant, which changes no softmax)
# and these weights, and they do not fit together: a cell like `W = F.softmax(W, dim=1)`
# was run more than once. **How many times** was the softmax applied? Experiment, then
# store a whole number.

# %% locked=true
row_of_scores = torch.tensor([0.0000, 0.1831, 0.0153, 0.1121, 0.1459])
printed_weights = torch.tensor([0.1964, 0.2037, 0.1970, 0.2007, 0.2021])

# %% exercise="2.H"
### BEGIN SOLUTION
times_applied = 2
### END SOLUTION

# %%
check("2.H", times_applied)

# %% [markdown] slide="skip"
# <details><summary>Hint: a pointer</summary>
#
# Apply the softmax once and compare. Then feed the result in again.
# </details>

# %% [markdown]
# A cell that assigns to the name it reads gives another result each time it runs. Give
# results new names, and before you believe a notebook choose *Restart Kernel and Run
# All*.

# %% [markdown] slide="slide"
# ### Five spellings of one formula
#
# The same attention can be written with loops, as you would say it aloud, with
# matrices, or with named axes. Torch has it as a fused kernel, a single piece of
# machine code for all the steps, and BERT in `transformers` has one more. The five
# differ by rounding only. Read them with `ways.by_loops??`.

# %% tags=["nbval-check-output"]
sizes = {"generator": torch.Generator().manual_seed(0), "dtype": torch.float64}
query, key, value = (torch.randn(2, n, 4, **sizes) for n in (5, 7, 7))  # (B, n, K)
mask = torch.ones(2, 5, 7, dtype=torch.bool)
mask[1, :, 4:] = False  # the second sequence has only four real keys
expected = attention(query, key, value, mask)

for way in (ways.by_loops, ways.by_matrices, ways.by_einsum, ways.by_kernel,
            ways.by_transformers):  # fmt: skip
    gap = (way(query, key, value, mask) - expected).abs().max()
    print(f"{way.__name__:16} same to 1e-12: {bool(gap < 1e-12)}")

# %% [markdown]
# Watch out for masks when you read other code. Here, and in torch's
# `scaled_dot_product_attention`, True means *may attend*. In `nn.MultiheadAttention`
# True means *blocked*. In `transformers` the numbers 1 and 0 mean *real* and *padding*.
#
# However it is spelt, the formula never asks what its vectors stand for. The same
# operation serves models that read images, where a vector belongs to a patch of pixels,
# and models that listen to speech, where it belongs to a moment.

# %% [markdown]
# ### A query made to order

# %% [markdown] exercise="2.J"
# Turn the dictionary around. You get the keys of a soft dictionary, more features than
# keys, and which of them is **wanted**, counted from 0. Find a query that puts at least
# 0.99 of the weight on it, scale included. Beware: the keys are not orthogonal, and
# some are longer than others.


# %% exercise="2.J"
def query_for(keys: Tensor, wanted: int) -> Tensor:
    """Find a query that fetches one value of a soft dictionary.

    Args:
        keys: (S, K), linearly independent, S < K
        wanted: which key, from 0

    Returns:
        (K,): softmax(keys @ query / sqrt(K)) is at least 0.99 at `wanted`.
    """
    ### BEGIN SOLUTION
    scores = torch.zeros(len(keys), dtype=keys.dtype)
    scores[wanted] = 10.0  # e^10 is 22,026: enough against a handful of others
    return torch.linalg.pinv(keys) @ scores * keys.shape[-1] ** 0.5
    ### END SOLUTION


# %%
check("2.J", query_for)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which scores would you like to see? Then: which query has exactly these scores?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# keys @ query = scores is a system of linear equations with more unknowns than
# equations. `torch.linalg.pinv` or `torch.linalg.lstsq` solves it.
# </details>

# %% [markdown] slide="slide"
# ### What it costs
#
# Every query meets every key: 12 tokens make 144 scores, *per head and per layer*.
# Count the multiplications of a layer for n tokens of d numbers: projections and
# feed-forward (lesson 04) take 12·n·d², scores and mixing 2·n²·d. The second overtakes
# the first only at n = 6d.

# %% tags=["nbval-check-output"]
d_model, num_heads = 768, 12


def multiplications(n: int) -> tuple[int, int]:
    """Count those of one layer: the linear and the quadratic part."""
    return 12 * n * d_model**2, 2 * n**2 * d_model


for n in (12, 512, 6 * d_model):
    linear, quadratic = multiplications(n)
    print(f"n={n:5}: scores {n**2:10,}  linear {linear:.1e}  quadratic {quadratic:.1e}")
assert multiplications(6 * d_model)[0] == multiplications(6 * d_model)[1]

# %% [markdown]
# So by the count of multiplications the quadratic part is the smaller one below 4,608
# tokens. Measure the seconds, with attention written naively, so that the scores are
# stored. At which length do you expect them to cross?


# %% slide="skip"
def seconds(work, *inputs) -> float:
    """The fastest of five calls."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        work(*inputs)
        times.append(time.perf_counter() - start)
    return min(times)


lengths, quadratic, linear, megabytes = [128, 256, 512, 1024, 2048], [], [], []
wide, back = nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)
dense = nn.Sequential(wide, back, wide)  # 12 n d_model² multiplications, as counted
with torch.no_grad():
    for n in lengths:
        x, heads = torch.randn(n, d_model), torch.randn(num_heads, n, 64)  # (H, T, K)
        every = torch.ones(n, n, dtype=torch.bool)
        quadratic.append(seconds(ways.by_matrices, heads, heads, heads, every))
        linear.append(seconds(dense, x))
        megabytes.append(num_heads * n * n * 4 / 1e6)

# %%
for row in zip(lengths, quadratic, linear, megabytes, strict=True):
    print("n={:5}  attention {:.4f} s  dense {:.4f} s  scores {:6.1f} MB".format(*row))
assert quadratic[-1] / linear[-1] > 2 * quadratic[0] / linear[0]
assert round(megabytes[0], 1) == 0.8 and round(megabytes[-1]) == 201
show_figure(
    draw.cost_curves(lengths, quadratic, linear, megabytes),
    "Two plots against length. The time of scores and softmax grows faster than that "
    "of the dense layers and crosses it; the scores grow from 0.8 to 201 MB.",
)

# %% [markdown]
# Look where the two curves cross on your machine: long before 4,608. Seconds are not
# multiplications. One reason is memory: the scores have to be written and read again,
# 0.8 MB for 128 tokens, 201 MB for 2,048. The mask and the softmax, which we did not
# count, take time as well. **Fused kernels** do it all at once and never store the
# whole table (Dao et al. 2022, *FlashAttention*).

# %% [markdown]
# How long a text can a model read? Such facts age quickly, so note when and who says
# so: the GPT-4o of May 2024 has a window of 128,000 tokens, by OpenAI's model page.

# %% [markdown] slide="slide"
# ### Another way to compare: additive attention
#
# Dot products are not the only choice. The attention that changed translation (Bahdanau
# et al. 2015) asked a small network: score = vᵀ tanh(W q + U k). You will write it in
# lesson 08, where it belongs. Here we only look at the scores; the softmax and the
# average stay as they were.


# %% tags=["nbval-check-output"]
def additive_scores(query, key, W, U, v):
    """Score each query (T, 4) with each key (S, 4): (T, S)."""
    together = (query @ W)[:, None, :] + (key @ U)[None, :, :]  # (T, S, 6)
    return together.tanh() @ v  # (T, S)


numbers = {"generator": torch.Generator().manual_seed(3)}
W, U, v = (torch.randn(*size, **numbers) for size in ((4, 6), (4, 6), (6,)))
some_query, some_key = (torch.randn(n, 4, **numbers) for n in (2, 3))
show("weights", additive_scores(some_query, some_key, W, U, v).softmax(-1))

# %% [markdown] exercise="2.K" slide="slide"
# Suppose a row of the mask is all False: a query that may attend to **nothing**. Three
# ways to compute it give three answers, as the next cell shows. Which one would you
# want, and what does each do to training if such a row slips in unnoticed? Write five
# or six sentences.

# %% tags=["nbval-check-output"]
one_query, two_keys = torch.randn(1, 1, 4), torch.randn(1, 2, 4)  # (B, T or S, K)
nothing = torch.zeros(1, 1, 2, dtype=torch.bool)
added = (one_query @ two_keys.mT / 2 + -1e9 * ~nothing).softmax(-1)
show("scores + (-1e9): weights", added)
fused = F.scaled_dot_product_attention(one_query, two_keys, two_keys, attn_mask=nothing)
show("fused kernel: output", fused)
module = nn.MultiheadAttention(4, 1, batch_first=True)
result, _ = module(one_query, two_keys, two_keys, attn_mask=~nothing[0])
print("nn.MultiheadAttention: output is NaN:", result.isnan().all().item())

# %% [markdown] answer="2.K"
# ### BEGIN SOLUTION
# **Model answer.** Adding −1e9 leaves all scores of the row equal after rounding, so
# the weights are uniform: the query quietly reads everything it was forbidden to read,
# padding and future included, and training goes on with a leak that no loss curve
# shows. Minus infinity gives 0/0, NaN: the next attention layer carries it to every
# token of the sequence (even a weight of 0 times NaN is NaN), and the loss turns NaN at
# once. That is ugly, but nobody can overlook it. Zeros, as in the fused kernel, mean
# "no information": no leak and no NaN, and the residual connection, which adds the
# input of a layer to its output (lesson 04), carries the token on. For production I
# want zeros; while I look for a bug I want the NaN. Best of all is not to have such
# rows: padded queries are ignored in the loss, and every real query may attend at least
# to itself.
#
# **Rubric (3 points).** 1: says what each of the three does to the weights. 1: says
# what follows for training (silent leak against loud NaN against no contribution). 1:
# takes a position and gives a reason.
# ### END SOLUTION

# %% [markdown] slide="slide"
# ## What you can do now
#
# You can write attention from its formula, for any number of leading axes and with a
# mask, and say where its weights come from: a query meets all keys, and a softmax turns
# the scores into weights that add up to 1. You can explain the √d_head by the spread of
# the scores and show it by an experiment. You can test attention by facts instead of
# shapes. And you have run a real head through your own code, and trained one that found
# out by itself where to look.
#
# A head has one query for each word, so it can ask one question. But *it* wants to know
# more than who was tired: what happened to it, and why? Lesson 03 lets a word ask
# several questions at once, and builds on the attention that you have written here.

# %% [markdown] slide="notes"
# **3 minutes.** Ask: each of you says the formula to a neighbour, in words, without the
# letters Q, K and V.
#
# Expect: the softmax is remembered and the values are forgotten.
#
# Say: a word has one query here, so it can ask one question. Lesson 03 gives it
# several. Then take their questions.

# %% [markdown] slide="skip"
# **References.** Vaswani et al. 2017, *Attention Is All You Need* (arXiv 1706.03762),
# section 3.2. Bahdanau et al. 2015 (arXiv 1409.0473). Dao et al. 2022, *FlashAttention*
# (arXiv 2205.14135), for why memory decides. Alammar, *The Illustrated Transformer*,
# and Weng, *Attention? Attention!*, for other pictures of the same thing.
