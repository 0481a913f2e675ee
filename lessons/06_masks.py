# %% [markdown] slide="slide"
# # 06 Masks: who may look at whom, and training at last
#
# **How does a model learn to write without ever seeing the answer?**
#
# You need: lessons 02 to 05. Time: {minutes}. Run in one go, the notebook takes
# {run time} on one core, most of it for the training.

# %% [markdown] slide="skip"
# At the end of this lesson you can
#
# - write the three masks of a Transformer, and read a printed one;
# - turn pairs of sentences into batches, take a step of training, and set its rate;
# - train a translator of your own parts, give it a sentence of your own, and find out
#   by experiment how it decided between *er*, *sie* and *es*;
# - test any model for a leak from the future, without training it (*Going further*).

# %% [markdown] slide="notes"
# **1 minute.** Say: today your own parts are put together, and a translator learns
# German from them.
#
# Ask: a decoder learns from whole sentences, whose next word it is to guess. What keeps
# it from reading that word?
#
# Expect: "the mask", from those who did lesson 05.

# %% [markdown] slide="notes"
# Start the training cell before the class, or in a break. Leave 6.E, 6.F, 6.G and
# everything below Going further for the lab. Usual trouble: which axis is the key axis,
# and two conventions in one program.

# %%
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import show, training
from helpers.checks import check
from helpers.figures import masks as draw
from helpers.figures import show_figure
from helpers.figures.play import play
from helpers.models import masks
from helpers.models.attention import attention
from helpers.models.transformer import Transformer, TransformerConfig
from helpers.student.own_parts import OwnParts

_ = torch.manual_seed(6)

# %% [markdown]
# **Letters in shape comments**: `B` batch, `T` query length, `S` key length, `H` heads,
# `V` vocabulary. A mask is boolean, True means "may attend", and it broadcasts to
# (B, H, T, S). Id 0 is padding, 1 starts a sentence, 2 ends it.

# %% [markdown] slide="slide"
# ## Why: twins that differ in one mask
#
# Two small Transformers with the same initial weights learn the same task: read five
# symbols, write them backwards. They differ in one thing only, the mask of the decoder.
# Don't study the code yet; look at what comes out.


# %%
def reversals(seed: int, count: int = 64):
    """Yield batches of (source (B, 5), target (B, 7)) without end."""
    draws = torch.Generator().manual_seed(seed)
    while True:
        source = torch.randint(3, 13, (count, 5), generator=draws)
        start, end = torch.full((count, 1), 1), torch.full((count, 1), 2)
        yield source, torch.cat([start, source.flip(1), end], 1)


TWIN_MASKS = {
    "twin A": lambda n: torch.ones(n, n).tril() == 1,
    "twin B": lambda n: torch.ones(n, n).tril() == 0,
}


# %% [markdown] slide="notes"
# **2 minutes.** Ask, before the next slide: same weights, same data, another mask.
# Which will have the lower loss, and which will write better?
#
# Expect: "the one with the lower loss writes better".
#
# Say: don't read the code yet, wait for what comes out.


# %% slide="skip"
def train_twin(mask_of):
    """Train a twin; returns its loss at the end and its exact matches."""
    torch.manual_seed(0)
    twin = Transformer(TransformerConfig(13, 13, 32, 4, 128, 1, 16, 0.0, True))
    optimizer = torch.optim.Adam(twin.parameters())

    def loss_of(model, batch):
        source, target = batch
        logits = model(source, target[:, :-1], None, mask_of(6))
        return F.cross_entropy(logits.mT, target[:, 1:])

    warm_up = {"schedule": lambda step: 0.005 * min(1, step / 50), "name": "twin"}
    history = training.train(twin, reversals(0), loss_of, optimizer, 200, **warm_up)
    return sum(history.loss[-20:]) / 20, written_right(twin, mask_of)


@torch.no_grad()
def written_right(twin, mask_of) -> float:
    """The share of 500 new examples that a twin writes without a mistake."""
    source, target = next(reversals(1, 500))
    written = target[:, :1]
    for _ in range(6):
        logits = twin(source, written, None, mask_of(written.shape[1]))
        written = torch.cat([written, logits[:, -1:].argmax(-1)], 1)
    return (written == target).all(1).float().mean().item()


# %% slide="subslide"
twins = {name: train_twin(mask_of) for name, mask_of in TWIN_MASKS.items()}
for name, (loss, right) in twins.items():
    print(f"{name}: loss at the end of training {loss:.3f}, written right {right:.1%}")
assert all(loss < 0.02 for loss, _ in twins.values())
assert twins["twin A"][1] > 0.9 and twins["twin B"][1] < 0.2

# %% [markdown]
# Both losses are practically zero. One twin writes everything right, the other next to
# nothing, and no loss curve would have told you which is which. Twin B's mask comes
# from a real tutorial. By the end of this lesson you will recognise it at once.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: both losses are nearly zero, and B writes next to nothing right.
# What did B learn?
#
# Expect: "overfitting". It can't be: every batch is new, so there is nothing to learn
# by heart.
#
# Say: it learned to copy what it was to guess. Keep that in mind for a quarter of an
# hour.

# %% [markdown] slide="slide"
# ## By hand: blocked scores
#
# $$\mathrm{Attention}(Q, K, V, mask) = \mathrm{softmax}\!\left(\mathrm{mask}\!
# \left(\frac{QK^\top}{\sqrt{d_{head}}}\right)\right) V$$

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: the second row has the scores 0, 1, 0, and its
# last key is hidden. What are its weights?
#
# Expect: "0, 1, 0". But e to the 0 is 1 and e to the 1 is 2.718, which makes 0.27 and
# 0.73.
#
# Say: a hidden score becomes minus infinity, so its weight is exactly 0. The first row
# has one key left, which gets everything.

# %% [markdown] slide="skip"
# How do you hide a word from attention? You don't delete it, because the table of
# scores has to stay a rectangle for the whole batch. You leave the word where it is and
# replace its score by minus infinity, just before the softmax. The exponential of minus
# infinity is zero, so the weight of this key is exactly zero, and as the softmax
# divides by the sum of what remains, the other weights of the row still add up to 1. In
# multi-head attention all heads get the same mask. Before you run the cell, work out
# the second row below with a pencil: it may see two keys, whose scores are 0 and 1.

# %% tags=["nbval-check-output"] slide="fragment"
scores = torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0], [2.0, 2.0, 2.0]])  # (T, S)
allowed = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool()
show("without a mask", scores.softmax(-1))
show("with a mask", scores.masked_fill(~allowed, float("-inf")).softmax(-1))

# %% [markdown] slide="skip"
# The second query divides its weight between two keys, 1/(1+e) = 0.2689 for the first
# and e/(1+e) = 0.7311 for the other. The first query has only one key left, and this
# key gets all of the weight, however small its score is.

# %% [markdown] slide="slide"
# ## Hide the padding
#
# The sentences of a batch are filled up to one length with a token that means nothing.
# Nobody may attend to it: the **key** is hidden, from every query and every head.

# %% [markdown] exercise="6.A"
# Write the padding mask of a batch of ids. Give it four axes, so that it lines up with
# scores of (batch, heads, query, key).

# %% [markdown] slide="notes"
# **2 minutes.** Ask: is padding hidden as a query or as a key?
#
# Expect: "both". It is hidden as a key; what a padded query computes is never read.
#
# Say: you dictate, I type. The comparison comes at once, so spend the time on the four
# axes: which two does a sentence have, and where do the others go?


# %% exercise="6.A" tags=["translation"]
def padding_mask(ids: Tensor) -> Tensor:
    """Who is a real token? Padding has the id 0.

    Args:
        ids: (B, S)

    Returns:
        (B, 1, 1, S), boolean, True = may attend
    """
    ### BEGIN SOLUTION
    real = ids != 0  # (B, S)
    return real[:, None, None, :]
    ### END SOLUTION


# %%
check("6.A", padding_mask)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Write down the ids of one short sentence and, below, the row of booleans you want.
# Which comparison gives it?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Indexing with `None` inserts an axis of length 1. Which axes of (batch, heads, query,
# key) does the sentence have already?
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# compare every id with the padding id; keep batch and key axis; insert two axes
# between.
# </details>

# %% [markdown]
# Here is your mask for a small batch, and a drawing of it for one sentence. A light
# field with a dot says that the query of this row may attend to the key of this column.
# Your mask has one row for all queries; the drawing repeats it. Which column do you
# expect to be dark?

# %%
words = ["start", "es", "war", "müde", "pad"]
example = torch.tensor([[1, 5, 6, 7, 0]])  # (B=1, T=5)

# %%
print(padding_mask(torch.tensor([[4, 5, 6, 0, 0], [7, 8, 9, 3, 0]])))
show_figure(
    draw.mask_grids(
        {"your padding mask": padding_mask(example)[0, 0].expand(5, 5)}, words, words
    ),
    "A grid of five queries and five keys: start, es, war, müde and pad. Fields where "
    "your mask is True are light and have a dot, the others are dark.",
)

# %% [markdown] slide="slide"
# ## Hide the future
#
# While it learns, the decoder reads the whole target at once. Its guess at place *i*
# may depend only on the places up to *i*, or there would be nothing left to guess.

# %% [markdown] slide="skip"
# When a decoder writes, the future does not exist yet. When it learns, the future
# stands on the page, because the whole correct translation is given at once, and it
# is the mask that has to play the part of time. Thanks to the **look-ahead mask** or
# **causal mask**, one run over a sentence of ten words trains ten guesses together,
# each as honest as if the words had come one by one.

# %% [markdown] exercise="6.B"
# Write the look-ahead mask: row = query, column = key. A token may attend to itself and
# to everything before it.

# %% [markdown] slide="notes"
# **3 minutes.** Ask: draw the mask for three words in the air, query down, key across.
# Which fields are open?
#
# Expect: both triangles. Name the row first: the first word may see itself and nothing
# else.
#
# Say: you dictate, I type. Time does not exist on a printed page, so the mask has to
# play its part. A model with this mask is called causal, and so is the mask.


# %% exercise="6.B"
def look_ahead_mask(length: int) -> Tensor:
    """Who stands at the query or before it?

    Args:
        length: T

    Returns:
        (T, T), boolean, True = may attend
    """
    ### BEGIN SOLUTION
    every_pair = torch.ones(length, length, dtype=torch.bool)
    return every_pair.tril()
    ### END SOLUTION


# %%
check("6.B", look_ahead_mask)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Draw the table for three tokens. Which three of its nine fields are the future?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Either compare two ranges of places, one as a column and one as a row, or cut a
# triangle out of a table of ones.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# True wherever the key's place is at most the query's place.
# </details>

# %%
print(look_ahead_mask(4).int())
show_figure(
    draw.mask_grids({"your look-ahead mask": look_ahead_mask(5)}, words, words),
    "The same grid of five queries and five keys, for the look-ahead mask: light where "
    "your mask is True, dark where it is not.",
)

# %% [markdown] slide="slide"
# ## Both at once
#
# In its own attention the decoder needs both: no future **and** no padding. Two boolean
# masks that broadcast to the same scores are combined entry by entry.

# %% [markdown] exercise="6.C"
# Write the mask for a batch of targets. Combine your own two masks, or start afresh.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: a padded key lies in the past. May it be looked at? And a real
# word in the future?
#
# Expect: "no" to both, and then `or` instead of `and`, because two things are
# forbidden.
#
# Say: our masks say what is allowed, and both have to allow it. One line; let
# broadcasting make the shape.


# %% exercise="6.C" tags=["translation"]
def target_mask(ids: Tensor) -> Tensor:
    """Neither the future nor padding.

    Args:
        ids: (B, T), padding has the id 0

    Returns:
        (B, 1, T, T), boolean, True = may attend
    """
    ### BEGIN SOLUTION
    no_future = masks.look_ahead_mask(ids.shape[1])  # (T, T)
    return no_future & masks.padding_mask(ids)  # (B, H=1, T, T)
    ### END SOLUTION


# %%
check("6.C", target_mask)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# A key lies in the past, but it is padding. May it be looked at? And a real token in
# the future? What must hold for both masks?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Broadcasting brings (T, T) and (B, 1, 1, T) together. Which operator takes two
# booleans and is True only if both are?
# </details>

# %% slide="skip"
print(target_mask(torch.tensor([[1, 7, 8, 0]])).int())

# %% slide="subslide"
hidden = {
    "padding": masks.padding_mask(example)[0, 0].expand(5, 5),
    "look-ahead": masks.look_ahead_mask(5),
    "target: both": masks.target_mask(example)[0, 0],
}
show_figure(
    draw.mask_grids(hidden, words, words),
    "Three masks of five tokens, the last one padding. Padding: the last column is "
    "blocked. Look-ahead: everything above the diagonal is blocked. Target: both.",
)

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: for the four real words, in which field do the
# last two drawings differ?
#
# Expect: "in the last column". They differ in none, because the padding lies in the
# future of every real word.
#
# Say: it begins to matter where padding stands in front, or where the future is open,
# as in the encoder.

# %% [markdown] slide="skip"
# Look at the row of the padding: it may attend. That does no harm, because nobody reads
# what comes out there, and a row with nothing to attend to would be worse (exercise
# 2.K). Now compare the last two drawings, row by row, for the four real words only.
# Where do they differ? Decide before you run the cell.

# %% tags=["nbval-check-output"] slide="fragment"
real = example[0] != 0
both, ahead = masks.target_mask(example)[0, 0], masks.look_ahead_mask(5)
print("same for all real queries:", torch.equal(both[real], ahead[real]))

# %% [markdown] slide="skip"
# Nowhere. Padding at the end lies in the future of every real word, so the look-ahead
# mask has hidden it already. The padding part begins to matter when the padding stands
# elsewhere, or when the future is open, which is the case in the encoder and in the
# cross-attention from decoder to encoder.

# %% [markdown] slide="subslide"
# See it happen to the weights of one head, whose scores are random and stay the same.
# Take the padding mask off and watch the rows of the real words: not one number moves.
# Then put the padding in front, where a batch that is to be continued has it, and take
# the mask off again: now every real word gives some of its weight to *pad*. With both
# masks on, look at the first row. It has no key left, and a softmax over nothing but
# minus infinity is 0/0, which is not a number. The course's attention returns zeros for
# such a row instead, and that is why twin B, whose mask leaves its last row without a
# key, could be trained at all.

# %%
play(draw.masks_by_hand(["start", "es", "war", "müde"]))

# %% [markdown] slide="slide"
# ## One word, four conventions
#
# | who | what stands for "may attend" |
# |---|---|
# | this course, `F.scaled_dot_product_attention` | True |
# | `nn.MultiheadAttention`, `nn.Transformer` | False (True = blocked) |
# | `attention_mask` in `transformers` | 1 |
# | code that computes `scores + mask * -1e9` | 0 (1 = blocked) |

# %% tags=["nbval-check-output"] slide="fragment"
x = torch.randn(1, 4, 8, generator=torch.Generator().manual_seed(1))  # (B, T, D)
layer = nn.MultiheadAttention(8, 2, batch_first=True)
ahead = masks.look_ahead_mask(4)
for name, mask in (("ours", ahead), ("turned round", masks.blocked(ahead))):
    _, weights = layer(x, x, x, attn_mask=mask)
    print(
        f"{name:13} row 1 of nn.MultiheadAttention sees", weights[0, 1].nonzero()[:, 0]
    )

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: I hand our look-ahead mask to
# `nn.MultiheadAttention`. Which keys does row 1 see, counted from 0?
#
# Expect: "0 and 1". It sees 2 and 3, the future, and nothing warned.
#
# Say: decide on one meaning, and convert once, where a library begins.

# %% [markdown] slide="skip"
# There is no error and no warning: the wrong convention gives the right shape and the
# wrong model. So decide on one meaning, convert once where a library begins (here with
# `masks.blocked`), and test the result.

# %% [markdown] exercise="6.D" slide="slide"
# Here is how one tutorial builds its masks, rewritten, with what its comments say in
# the docstrings. Where the mask is used, the code computes `scores + mask * -1e9`. Read
# the printed mask. Which keys does the **first** query really get to see? Give their
# places, counted from 0, in rising order, as a tuple such as `(5, 6)`.

# %% [markdown] slide="notes"
# **4 minutes.** Say: vote alone first, then talk to your neighbour, then vote again.
#
# Ask: which keys does the first query see?
#
# Expect: "0 and 4", because the comment says that 1 means may attend.
#
# Say: don't believe the comment, look at the place where the mask is used, and read row
# 0. Does it remind you of one of the twins?


# %% locked=true tags=["nbval-check-output"]
def published_padding_mask(ids):
    """1 = real token, 0 = padding."""
    return (ids == 0).float()[:, None, None, :]


def published_look_ahead_mask(length):
    """1 = may attend."""
    return (torch.triu(torch.ones(length, length), diagonal=1) == 0).float()


def published_target_mask(ids):
    """Combine both."""
    ahead = published_look_ahead_mask(ids.shape[1])
    return torch.max(published_padding_mask(ids), ahead)


target = torch.tensor([[1, 2, 3, 4, 0]])  # (B=1, T=5), the last id is padding
print(published_target_mask(target)[0, 0].int())

# %% exercise="6.D"
### BEGIN SOLUTION
seen_by_first = (1, 2, 3)  # 1 means blocked: row 0 blocks itself and the padding
### END SOLUTION

# %%
check("6.D", seen_by_first)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# What happens to a score to which 1 · (−1e9) is added? And 0 · (−1e9)?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Don't read the docstrings. Read row 0.
# </details>

# %% [markdown]
# Run the attention of that decoder on random vectors, and then the same with our mask.

# %% tags=["nbval-check-output"]
x = torch.randn(5, 8, generator=torch.Generator().manual_seed(2))  # (T, D)
scores = x @ x.T / 8**0.5 + published_target_mask(target)[0, 0] * -1e9
show("published", scores.softmax(-1), digits=3)
_, weights = attention(x, x, x, masks.target_mask(target)[0, 0], need_weights=True)
show("right", weights, digits=3)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: the last two rows of the published mask are blocked everywhere.
# What weights should they have, and what have they got?
#
# Expect: "zeros". A softmax always adds up to 1, and here each key got 0.2.
#
# Say: beside −1e9 a score has no digits left, so all five became the same number.

# %% [markdown]
# The past and the token itself are blocked, and the future is open. The look-ahead mask
# means "1 = may attend", while the code that uses it means "1 = blocked". So does the
# padding mask, whatever its docstring says, and the maximum of the two mixes both
# conventions.

# %% [markdown] slide="skip"
# And the last two rows? They are all ones, so everything in them is blocked, and still
# each key got 0.2. A float32 number near −1e9 has no digits left for a score: its next
# neighbour is 64 away, so −1e9 plus 3 is again −1e9. All five scores of such a row have
# become the same number, and a softmax of equal scores gives every key the same share,
# padding and future included. So a row that should see nothing reads everything, and no
# error says so.

# %% tags=["nbval-check-output"] slide="skip"
large = torch.tensor(-1e9)
print("to the next float32:", (large - torch.nextafter(large, -2 * large.abs())).item())
print("-1e9 + 3 is -1e9:   ", (large + 3 == large).item())

# %% [markdown] slide="slide"
# ## From pairs to a batch
#
# A pair is two lists of ids, each with start and end. The target is used twice: the
# decoder **reads** it without its last token and **should say** it without its first.

# %% slide="fragment"
show_figure(
    draw.shifted(["start", "es", "war", "müde", "end"]),
    "Two rows of tokens. The decoder reads start, es, war, müde; below each stands "
    "what it should say: es, war, müde, end.",
)

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: the model has read *start*. What is it to say?
# And after *müde*?
#
# Expect: "es", and then silence. It has to say *end*, or it would never stop.
#
# Say: it reads the true beginning whatever it would have written itself. This is
# teacher forcing, and its price is called exposure bias.

# %% [markdown] slide="skip"
# This is the **teacher forcing** of lesson 05: at each place the model reads the true
# beginning of the sentence, whatever it would have written there itself, and so all
# places of all sentences learn in one run. Its price is **exposure bias**. In
# training the model never sees its own mistakes, but when it writes, it reads them,
# which is one more reason to judge a model by what it writes, and not by its loss
# alone.

# %% [markdown] exercise="6.E"
# Write both steps: `collate` turns pairs into two padded tensors, and `shift` splits a
# target into what is read and what should be said.


# %% exercise="6.E" tags=["translation"]
def collate(pairs: list[tuple[list[int], list[int]]]) -> tuple[Tensor, Tensor]:
    """Lay pairs of id lists into two tensors, filled up with 0 behind.

    Args:
        pairs: (source ids, target ids) of each pair

    Returns:
        source (B, S), target (B, T), whole numbers
    """
    ### BEGIN SOLUTION
    #: tables = ...  # one for the sources, one for the targets
    tables = []
    for side in zip(*pairs, strict=True):
        longest = max(len(ids) for ids in side)
        rows = [list(ids) + [0] * (longest - len(ids)) for ids in side]
        tables.append(torch.tensor(rows))
    return tables[0], tables[1]
    ### END SOLUTION


def shift(target: Tensor) -> tuple[Tensor, Tensor]:
    """Split a target into what the decoder reads and what it should say.

    Args:
        target: (B, T + 1), each row from start to end, then padding

    Returns:
        decoder_input (B, T), labels (B, T)
    """
    ### BEGIN SOLUTION
    everything_but_last = target[:, :-1]
    everything_but_first = target[:, 1:]
    return everything_but_last, everything_but_first
    ### END SOLUTION


# %%
check("6.E", collate, shift)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# How long is the longest source of these pairs? How many zeros does each shorter one
# need, and on which side?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `zip(*pairs)` turns a list of pairs into a pair of tuples: all sources, all targets.
# For the shift, the figure above is the whole story: two slices along the places.
# </details>

# %%
source, target = collate([([1, 7, 2], [1, 5, 6, 2]), ([1, 8, 9, 2], [1, 4, 2])])
print(source, target, sep="\n")
print("reads", shift(target)[0][0], "should say", shift(target)[1][0])

# %% [markdown] slide="slide"
# ## The loss, and one step
#
# The loss is the cross-entropy between the logits at each place and the label there,
# with two refinements. At padding there is nothing to predict, so those places **do not
# count**, and the labels are **smoothed**.

# %% [markdown] slide="skip"
# **Label smoothing** moves a share of 0.1 from the right word to all words evenly, so
# that the model is not rewarded for being infinitely sure. By hand, for four words of
# which the third is right: it gets 0.9 + 0.025, and each other word gets 0.025.

# %% tags=["nbval-check-output"]
logits, label = torch.tensor([[0.5, 0.1, 2.0, -0.3]]), torch.tensor([2])
smooth = 0.9 * F.one_hot(label, 4) + 0.1 / 4  # (1, V=4)
show("smoothed label", smooth)
show("by hand", -(smooth * logits.log_softmax(-1)).sum())
show("by torch", F.cross_entropy(logits, label, label_smoothing=0.1))

# %% [markdown] slide="skip"
# With smoothed labels the loss can't reach 0, even for a model that knows everything,
# because the label itself is not certain. Its floor is the **entropy** of the label.
# What do you guess it is for a vocabulary of 346 words, which is what our German will
# have? Remember the number for the loss curve.

# %% tags=["nbval-check-output", "translation"] slide="fragment"
label = torch.full((346,), 0.1 / 346)
label[0] += 0.9
floor = -(label * label.log()).sum()
show("floor of the loss", floor, digits=3)

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: with smoothed labels, what loss has a perfect
# model?
#
# Expect: "zero". The label gives the right word a little over 0.9 and every other word
# a little, so even the best answer leaves something.
#
# Say: know the floor before you read a loss curve. 6.F in the lab writes the step.

# %% [markdown] exercise="6.F" slide="slide"
# Write one step of training from your own parts: shift the target, make the masks, run
# the model, compute the smoothed loss over the real labels, and update the weights. The
# cell below puts your masks and your shift into `mine`, or the course's where a check
# has not passed yet, and says so. Use `mine.shift`, `mine.padding_mask` and
# `mine.target_mask`. Return the loss as a plain number, by `.item()`. (A tensor that
# holds it counts as well, but whoever keeps the tensor keeps the graph of the whole
# step.)

# %% locked=true tags=["translation"]
mine = OwnParts()
mine.take("6.A", padding_mask)
mine.take("6.C", target_mask)
mine.take("6.E", collate, shift)


# %% exercise="6.F" tags=["translation"]
def train_step(model, optimizer, source: Tensor, target: Tensor) -> float:
    """Take one step on a batch of pairs.

    Args:
        model: takes source (B, S), decoder input (B, T), source mask (B, 1, 1, S) and
            target mask (B, 1, T, T); returns logits (B, T, V)
        optimizer: holds the model's parameters
        source: (B, S), padding has the id 0
        target: (B, T + 1), from start to end, then padding

    Returns:
        The loss before the step: mean over the real labels, label smoothing 0.1.
    """
    ### BEGIN SOLUTION
    #: written = ...  # (B, T)
    #: labels = ...  # (B, T)
    #: logits = ...  # (B, T, V)
    #: loss = ...
    written, labels = mine.shift(target)  # (B, T) each
    logits = model(
        source, written, mine.padding_mask(source), mine.target_mask(written)
    )
    loss = F.cross_entropy(
        logits.transpose(1, 2), labels, ignore_index=0, label_smoothing=0.1
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
    ### END SOLUTION


# %%
check("6.F", train_step)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which ids does the decoder read: the whole target? From which ids is its mask made?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `F.cross_entropy` wants the vocabulary on axis 1, and has arguments named
# `ignore_index` and `label_smoothing`.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# shift; two masks; logits; loss; clear old gradients; backward; step; return the
# number.
# </details>

# %%
_ = torch.manual_seed(3)
small = Transformer(TransformerConfig(13, 13, 16, 2, 32, 1, 16, 0.0, True))
optimizer = torch.optim.Adam(small.parameters(), lr=0.01)
source, target = next(reversals(2))
for step in range(5):
    print(f"step {step + 1}: loss {train_step(small, optimizer, source, target):.3f}")

# %% [markdown] slide="slide"
# ## A translator of your own parts
#
# Your model will translate English into German, in a little language of a few hundred
# words. They are enough for *The animal did not cross the street because it was too
# tired.*

# %% [markdown] slide="skip"
# Until now your parts have worked on toys. Now they are put together: the Transformer
# that you built in lesson 05, the masks, batches, step and schedule of this lesson. The
# sentences come from a grammar that knows what may be said of an animal, when German
# puts its verb last, and which noun each *it* stands for. Some of them are **held
# out**: they contain pairs of words, such as *animal* and *street*, that the model has
# seen one by one, but never in the same sentence.

# %% tags=["translation"]
import copy
from collections import Counter

from helpers.corpora.vocabulary import END, START
from helpers.experiments.language import (
    LONGEST,
    exact,
    language_task,
    pronouns_right,
    similar_batches,
    with_rare_words,
)
from helpers.figures.training import loss_curve

task = language_task("de", "core")
as_given = task.code == "de"  # the numbers in the text are those for German
print(f"{len(task.train):,} pairs to learn from, {len(task.held_out):,} held out")
print(len(task.source), "source ids,", len(task.target), "target ids")
for pair in task.train[:4]:
    print(f"{pair.source}  →  {pair.target}")
assert not as_given or len(task.target) == 346

# %% [markdown] slide="notes"
# **1 minute.** Say: *animal* and *street* never stand in one sentence of the training
# data, so ours can't have been learned by heart.
#
# Ask: after 60 steps of training, what will it write? After 300?
#
# Expect: "nonsense" for the first, and everything between for the second.

# %% [markdown] slide="subslide"
# The next cell takes the parts, and prints whose they are: yours where a check has
# passed, here or in lesson 05, and the course's elsewhere. If you have time, go back
# and solve what is missing; the training below will use it.


# %% tags=["translation"]
def one_step(part) -> None:
    """What a step of training does with a Transformer, or with a training step."""
    sizes = (346, 346, 64, 4, 128, 2, 64, 0.0, True)
    build = Transformer if part.__name__ == "train_step" else part
    step = part if part.__name__ == "train_step" else mine.train_step
    model, ids = build(TransformerConfig(*sizes)), torch.arange(3, 643).view(64, 10)
    optimizer = torch.optim.Adam(model.parameters())
    step(model, optimizer, ids % 300 + 3, ids % 300 + 3)


mine.take("6.F", train_step, step=one_step)
mine.take("5.C", step=one_step)
mine.take("5.D")

# %% tags=["translation"]
seed = 6
_ = torch.manual_seed(seed)
config = TransformerConfig(
    len(task.source), len(task.target), d_model=64, num_heads=4, d_ff=128,
    num_layers=2, max_length=64, dropout=0.0, norm_first=True,
)  # fmt: skip
translator = mine.Transformer(config)
print(f"{sum(p.numel() for p in translator.parameters()):,} parameters")


# %% tags=["translation"]
def rate(step: int) -> float:
    """The paper's schedule, led down to 0 over the last half of 900 steps."""
    return training.noam_schedule(step, 64, 200) * min(1, (901 - step) / 450)


def translations(model, sentences) -> list[str]:
    """What a translator writes, word by word."""
    source, _ = mine.collate([(task.source.encode(one), [0]) for one in sentences])
    real = mine.padding_mask(source)
    return task.texts(mine.greedy_decode(model, source, real, START, END, LONGEST))


pairs = with_rare_words(task.ids(task.train))
batches = similar_batches(pairs, 64, seed, mine.collate)
optimizer = torch.optim.Adam(
    translator.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True
)

# %% [markdown] slide="skip"
# The recipe is the paper's, on a small scale: two layers with vectors of 64 numbers,
# Adam with its settings, label smoothing, and a learning rate that rises for 200 steps,
# a **warm-up**, and then falls. The differences include pre-norm (lesson 04), no
# dropout, whole words as tokens, and a rate that ends at 0. A batch holds 64 pairs of
# similar length, and pairs with a rare word come more often. `training.repeat` is your
# `train_step` in a loop, with the schedule and a progress bar; read it with
# `training.repeat??`. The cell stops four times and lets the model write. Guess before
# you run it: what will come first, the words, their order, or the right *es* and *sie*?

# %% tags=["translation"] slide="subslide"
SAMPLES = [
    "The animal did not cross the street because it was too tired.",
    "The animal did not cross the street because it was too wide.",
    "Does the king want to open the old letter?",
]
history, stages = training.History(), []
for stretch in (60, 90, 150, 600):
    options = {"schedule": rate, "history": history, "name": "translation"}
    training.repeat(mine.train_step, translator, optimizer, batches, stretch, **options)
    stages.append(copy.deepcopy(translator.eval()))
    print(f"after {len(history.loss)} steps, loss {history.loss[-1]:.3f}")
    for text in translations(translator, SAMPLES):
        print("   ", text)

# %% [markdown] slide="notes"
# **4 minutes.** Say: read the four stretches aloud, in your best German.
#
# Ask: what did it learn first, and what last?
#
# Expect: "the words first, the pronoun last". First of all comes a frame, with its
# comma and its verb at the end. The right words follow, and *es* or *sie* is settled
# last.
#
# Say: the loss falls all the time. Would it have told you which of these steps came
# when?

# %% slide="subslide"
show_figure(
    loss_curve(history, floor=floor.item(), title="English to German"),
    "The training loss falls from about 6 to about 1 within some 400 steps and comes "
    "close to its floor. Below, the learning rate: up for 200 steps, then down to 0.",
)

# %% [markdown] slide="notes"
# **1 minute.** Ask: why does this curve not go down to 0, and what would you say if it
# did?
#
# Expect: "it needs more steps". The dotted line is the floor from before: no model can
# get below it.
#
# Say: the line below is the learning rate, 200 steps up and then down to 0.

# %% [markdown] slide="subslide"
# Order and frequent words come first. The pronoun is settled late: it may come and go
# until the last stretch, while the loss falls all the time and says nothing about it.
# And the loss ends near the floor that you computed, not at 0. Whether the model can
# **translate** is another question, and twin B has taught you to ask it. So let it
# write the 1,000 held-out sentences, and count those that are right in every word. Then
# count the pronouns alone, in the sentences that give a reason, *because it ...*. How
# many of 100 do you expect?

# %% tags=["translation"] slide="fragment"
texts = translations(translator, [pair.source for pair in task.held_out])
score = exact(task.held_out, texts)
pronouns_score = pronouns_right(task.held_out, texts, task.code)
print(f"right in every word: {score:.1%} of {len(texts):,} held-out sentences")
print(f"right pronoun:       {pronouns_score:.1%} of those with a reason")
for pair, text in zip(task.held_out, texts, strict=True):
    if text != pair.target:
        print(f"{pair.source}\n  {text}\n  not: {pair.target}")
assert not as_given or min(score, pronouns_score) >= 0.97

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: of 100 sentences whose pairs of words it never
# met, how many will be right in every word?
#
# Expect: "eighty". It is nearly all of them, and nearly all of the pronouns, too.
#
# Say: these sentences are of the kinds that it was trained on. New kinds are in the
# appendix, and there it is less sure.

# %% [markdown] slide="skip"
# One good run may be luck; `docs/experiments.md` has three more, under *translation*.

# %% [markdown] slide="slide"
# ## Your own sentence
#
# Type a sentence. Words that the translator does not know are named, with the closest
# ones that it has.

# %% [markdown] slide="skip"
# `lookup` tidies what you type, capitals and *didn't* included, and compares it with
# the words of a translator. Yours knows 218 English words and signs; the bundled French
# one knows all words of our little language, 93 nouns among them. Change the sentence
# as often as you like. For a French translator of your own, go back to the cell with
# `language_task("de", "core")`, write "fr" and run everything from there on again.

# %%
from helpers.corpora.language.lookup import UnknownWords, lookup
from helpers.experiments.bundled import load_translator

typed = "the hungry dog didn't eat the bread because it was too dry"
yours = {"de": "German, yours:  ", "fr": "French, yours:  "}[task.code]


def both_languages(text: str) -> None:
    """Print a sentence by your translator, and in French by the bundled one."""
    try:
        tidy = lookup(text, task.source).text
        print(yours, *translations(translator, [tidy]))
    except UnknownWords as error:
        print(yours, error)
    try:
        print("French, bundled:", load_translator("fr")(text))
    except UnknownWords as error:
        print("French, bundled:", error)


both_languages(typed)
both_languages("The elephant did not see the castle because it was too tired")

# %% [markdown] slide="notes"
# **3 minutes.** Say: dictate me a sentence.
#
# Ask: what will it do with a word that it has never seen?
#
# Expect: "guess". It never gets that far: the lookup names the word, and the closest
# ones that there are. Let them swap the adjective or a noun, and watch the pronoun.

# %% [markdown] slide="slide"
# ## Who decided between *es* and *sie*?
#
# *Das Tier überquerte die Straße nicht, weil **es** zu müde war.* With *wide* it is
# **sie**, the street. Where in the model is that decided?

# %% [markdown] slide="skip"
# In lesson 02 you saw a head that looks from *it* to *animal*. It is tempting to
# conclude that the encoder settles what *it* means, writes the answer into the vector
# of *it*, and that the decoder reads it there. You can test that, because you can
# change the model's input and see what becomes of its output. This is called an
# **intervention**, and it needs sentences that differ in nothing but the thing in
# question. Here are 60 pairs of **twins**, of the same form as ours; each pair differs
# in its adjective alone, and its German pronouns differ. Change the adjective, and the
# pronoun has to follow. Swap the noun that *it* stands for, and it has to follow again.

# %%
from helpers.experiments import pronouns

twins = pronouns.find_twins(task.code, "core", 60)
of_twins = [pair for one in twins for pair in one.both]
swapped = [
    other for pair in of_twins if (other := pronouns.with_other_noun(task, pair))
]
for some, name in ((of_twins, "adjective changed"), (swapped, "noun swapped")):
    for pair in some[:2]:
        print(f"  {pair.source}  →  {pair.target}")
    right = pronouns.right_pronouns(translator, task, some)
    print(f"{name}: {right:.0%} of {len(some)} pronouns right")
    assert not as_given or right >= 0.95

# %% [markdown] slide="notes"
# **2 minutes.** Ask: whose vector does the decoder need for the pronoun: that of *it*,
# of *animal*, or of *tired*?
#
# Expect: "of *it*": the encoder has looked from *it* to *animal*, as in lesson 02.
#
# Say: take a vote, and write it down. The model follows the adjective and the noun, as
# the numbers show; next we take words away, one by one.

# %% [markdown] exercise="6.G"
# The model does follow. Now take away what it might have used. The decoder reads the
# encoder's vectors through its cross-attention, and that has a mask: hide one word
# there, and the decoder has to do without the vector of this word, while the encoder
# has still seen everything. Write the mask. It hides the padding, and in each sentence
# the one token whose place is given.


# %% exercise="6.G"
def hide(ids: Tensor, places: Tensor) -> Tensor:
    """Hide the padding, and one more token of each sentence.

    Args:
        ids: (B, S), padding has the id 0
        places: (B,), for each sentence the place of the token, from 0

    Returns:
        (B, 1, 1, S), boolean, True = may attend
    """
    ### BEGIN SOLUTION
    all_places = torch.arange(ids.shape[1])  # (S,)
    elsewhere = all_places != places[:, None]  # (B, S)
    return masks.padding_mask(ids) & elsewhere[:, None, None, :]
    ### END SOLUTION


# %%
check("6.G", hide)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which of your masks hides the padding already, and which operator combines it with a
# second condition?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Compare a row of all places, (S,), with the places as a column, (B, 1). That gives a
# table (B, S).
# </details>

# %% [markdown]
# Four words are candidates: *it*, the adjective, the noun that is meant, and the other
# noun. In each run one of them is hidden from the decoder, in all 120 sentences, and
# the model has to write the pronoun. Two numbers are worth knowing beforehand: with
# nothing hidden nearly all are right, and a model that can't tell one twin from the
# other gets half at best. Which word is missed most? Guess all four before you run the
# cell.

# %% slide="fragment"
mine.take("6.G", hide)
sources = task.sources(of_twins)  # (B=120, S)
before = [pronouns.before_pronoun(task, pair) for pair in of_twins]
written, _ = mine.collate([(ids[0].tolist(), [0]) for ids, _ in before])  # (B, T)
wanted = torch.tensor([right for _, right in before])
last = torch.tensor([ids.shape[1] - 1 for ids, _ in before])

without = {}
for word in ("it", "adjective", "meant", "other"):
    places = torch.tensor([pronouns.places(task, one)[word][0] for one in of_twins])
    with torch.no_grad():
        memory = translator.encode(sources, mine.padding_mask(sources))
        kept = mine.hide(sources, places)
        logits = translator.decode(written, memory, mine.target_mask(written), kept)
    found = logits[torch.arange(len(last)), last].argmax(-1)
    without[word] = (found == wanted).float().mean().item()
    print(f"right pronouns without {word:10} {without[word]:.0%}")
assert not as_given or without["it"] > 0.8
assert not as_given or abs(without["adjective"] - 0.5) < 0.1

# %% [markdown] slide="notes"
# **3 minutes.** Ask, before you press: how many of 100 pronouns stay right without
# *it*? Without the adjective?
#
# Expect: few without *it*. It is the other way round: without *it* hardly anything is
# lost, and without the adjective about half are right.
#
# Say: half is chance, because the twins differ in nothing else. So no other vector
# brings the adjective to the decoder.

# %% [markdown] slide="skip"
# Did you expect *it* to be missed most? Hide *it*, and almost nothing happens, so the
# answer is not kept there. Hide the adjective, and about half of the pronouns are
# right, which is the most a model can get by giving both twins the same answer. The two
# sentences differ in the adjective alone, so the vectors of all other words bring next
# to nothing of it to the decoder. The noun that is meant is missed as well, because the
# decoder has to know its gender. How much it is missed varies from one training to the
# next, because the decoder has a second source: it has written *Das Tier* itself.

# %% [markdown] slide="subslide"
# The reverse experiment should agree: leave everything in place, and exchange a single
# vector for that of the twin sentence. If *it* held the answer, its vector would change
# the pronoun. In how many of the 120 sentences will it do so? And the adjective's?

# %%
couples = [one.both for one in twins] + [one.both[::-1] for one in twins]
flips = pronouns.exchanged(translator, task, couples)
for word, share in flips.items():
    print(f"vector of {word:10} from the twin: {share:.0%} take the twin's pronoun")
assert not as_given or flips["adjective"] > 0.9 and flips["it"] < 0.1

# %% [markdown] slide="skip"
# So in this model the adjective is what the encoder hands over, and at *it* nothing
# is decided. The bundled translators, which know more words, agree: when the
# adjective's vector is exchanged, all of their pronouns change, and with that of
# *it*, none do (`docs/experiments.md`, *pronouns_de* and *pronouns_fr*).
#
# Does the translator know, then, that an animal can be tired and a street can't?
# These experiments do not tell. One that does stands in *Going further*, under
# *Meaning, or place?*

# %% [markdown] slide="slide"
# ## Bugs from the wild
#
# Here is one more mistake from published code, and this one is loud.

# %% [markdown]
# **The mask of the whole target.** A training step made its masks from the whole
# target, and gave the model the target without its last token. Read the message as you
# would read a map: which axis, and which two lengths?

# %% locked=true tags=["nbval-check-output"]
source, target = torch.tensor([[4, 5, 6, 7]]), torch.tensor([[1, 7, 6, 5, 4, 2]])
whole = masks.target_mask(target)  # (B, 1, 6, 6), but the decoder reads 5 tokens
tiny = Transformer(TransformerConfig(13, 13, 16, 2, 32, 1, 16))
try:
    tiny(source, target[:, :-1], masks.padding_mask(source), whole)
except RuntimeError as error:
    print(f"{type(error).__name__}: {error}")

# %% [markdown] slide="slide"
# ## Going further
#
# From here on everything is optional: two questions about leaks, what a warm-up is
# good for, what the translator knows of streets, a map that misleads, new kinds of
# sentences, and a search that does not decide too early.

# %% [markdown]
# ### A leak that no loss shows

# %% [markdown] exercise="6.H"
# Twin B learned with the mask of exercise 6.D. Its training loss was as good as its
# sister's. **Why can the training loss not show the leak**, and what would have shown
# it? Write five or six sentences.

# %% [markdown] answer="6.H"
# ### BEGIN SOLUTION
# **Model answer.** The loss asks how well the model predicts token t + 1 from what it
# may look at. With the future open, token t + 1 itself is among it, so copying is the
# easiest way to a small loss, and the loss is honestly small: it measures another
# task than the one I care about. The leak even makes training look better. When the
# model writes, the next token does not exist yet, so what it has learned to copy is
# missing, and the output is noise. What shows it is a measurement in the situation of
# use: let the model write and count exact matches on held-out examples. A second way
# needs no training: change a token and see whether an earlier prediction moves. A
# third is arithmetic: a loss below the entropy of the task is too good to be true.
#
# **Rubric (3 points).** 1: the answer is among the inputs, so the loss measures
# copying. 1: in use the future is missing, so training and use differ. 1: names a
# measurement that would show it (writing on held-out data, perturbation, or the
# entropy floor).
# ### END SOLUTION

# %% [markdown]
# ### A test for leaks

# %% [markdown] exercise="6.J"
# Never trust a mask that you have only read. Write a test for **any** model that maps
# ids (B, T) to logits (B, T, V): change one token and look which rows of the logits
# change. It is judged on models that are right and on models that leak, some at a
# single place. It meets one of those again and again, so a test that finds a leak only
# most of the time will miss it once.


# %% exercise="6.J"
def is_causal(model) -> bool:
    """Test whether a model looks into the future.

    Args:
        model: in evaluation mode; takes ids (B, T), numbers from 0 to 10 and T at
            most 16, returns logits (B, T, V): row t scores the token that follows
            place t

    Returns:
        True if no row depends on a later token, up to rounding.
    """
    ids = torch.randint(0, 11, (1, 10))
    ### BEGIN SOLUTION
    before = model(ids)  # (B, T, V)
    for place in range(1, ids.shape[1]):
        other = ids.clone()
        other[:, place] = (ids[:, place] + 1) % 11
        change = model(other)[:, :place] - before[:, :place]
        if change.abs().max() > 1e-4:
            return False
    return True
    ### END SOLUTION


# %%
check("6.J", is_causal)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# You exchange token t. Which rows may change, and which must not?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# A leak may sit at one place only: exchange every token in turn. And the same model may
# round its sums in another order: compare with room for that.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# logits of the ids; for each place: copy the ids, exchange that token, logits again; if
# any row before the place moved by more than rounding: not causal.
# </details>

# %% [markdown]
# Here is your test on two decoders, one with our mask and one with twin B's. It needs
# no training and takes milliseconds, so it has its place in the tests of every model
# that writes. Which of the two will be causal?


# %%
def as_writer(mask_of):
    """A small untrained decoder, as a function from ids to logits."""
    torch.manual_seed(1)
    model = Transformer(TransformerConfig(11, 11, 12, 3, 24, 2, 16, 0.0)).eval()
    source = torch.tensor([[4, 5, 6]])  # (B=1, S=3)
    return lambda ids: model(source, ids, None, mask_of(ids.shape[1]))


print("our mask:   ", is_causal(as_writer(masks.look_ahead_mask)))
print("twin B's:   ", is_causal(as_writer(TWIN_MASKS["twin B"])))

# %% [markdown] slide="slide"
# ### Warm up, then cool down
#
# $$rate = d_{model}^{-0.5} \cdot \min(step^{-0.5},\; step \cdot warmup^{-1.5})$$
#
# The paper's learning rate rises in a straight line for `warmup` steps, then falls as
# one over the square root of the step.

# %% [markdown] exercise="6.K"
# Write the schedule. Steps are counted from 1.


# %% exercise="6.K"
def noam_schedule(step: int, d_model: int, warmup: int) -> float:
    """The learning rate of the paper.

    Args:
        step: from 1
        d_model: width of the model
        warmup: how many steps the rate rises

    Returns:
        The rate for this step.
    """
    ### BEGIN SOLUTION
    rising, falling = step * warmup**-1.5, step**-0.5
    return min(rising, falling) / d_model**0.5
    ### END SOLUTION


# %%
check("6.K", noam_schedule)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# At which step are both terms equal, and which one is smaller before it?
# </details>

# %%
steps = range(1, 1001)
rates = {
    "d_model 64, warm-up 200": [training.noam_schedule(s, 64, 200) for s in steps],
    "d_model 64, warm-up 400": [training.noam_schedule(s, 64, 400) for s in steps],
    "d_model 256, warm-up 200": [training.noam_schedule(s, 256, 200) for s in steps],
}
show_figure(
    draw.schedules(rates),
    "Three learning rates over 1000 steps. Each rises in a straight line, then falls "
    "slowly; a longer warm-up gives a lower, later peak, a wider model a lower rate.",
)

# %% [markdown] slide="skip"
# What is the warm-up good for? One reason given is that at first Adam has seen few
# gradients, so that its estimate of their size is poor (Liu et al. 2020); another,
# that in a post-norm model the gradients near the output are large at the beginning
# (Xiong et al. 2020). Here is a small measurement of what it does: a Transformer of
# two layers, post-norm as in the paper, learns to write eight symbols backwards in
# 400 steps. Its rate starts at the peak, or takes 100 steps to get there, and falls
# to 0 over the last half. Two peaks are tried, 0.008 and 0.032. Each of the four
# models is then asked for symbols that it has not seen; by chance one in ten would be
# right. In which of the four runs do you expect the warm-up to matter?

# %%
from helpers.experiments.warm_up import share_right

learned = {}
for peak in (0.008, 0.032):
    for steps in (0, 100):
        learned[peak, steps] = share_right(peak, steps)
        print(f"peak {peak}, warm-up {steps:3}: {learned[peak, steps]:.0%} right")
assert learned[0.008, 0] > 0.95 and learned[0.032, 100] > 0.95
assert learned[0.032, 0] < 0.5

# %% [markdown] slide="skip"
# At the lower peak both learn everything. At the higher one the model that starts at
# the full rate is lost, and the one that warms up learns everything as well. So in
# these four runs the warm-up does not make the best result better. It makes a larger
# rate work that fails without it, which can save you a search. It does not make every
# rate work: in a cell of your own, double the peak, `share_right(0.064, 100)`, and try
# a warm-up of 10 steps. And with the argument `norm_first=True`: is a pre-norm model
# safe without one?

# %% [markdown] slide="subslide"
# ### Meaning, or place?
#
# Does the translator know that an animal can be tired and a street can't? It may also
# have learned something simpler. Count in the sentences for training whom *tired* and
# *wide* describe. Then exchange the nouns, and let three models translate: the street
# did not cross the animal, because it was too tired. Who is tired now?

# %%
said_of = {"tired": Counter(), "wide": Counter()}
for pair in task.train:
    reason, main = pair.meaning.because, pair.meaning.main
    if reason and main.object and reason.adjective in said_of:
        role = "subject" if reason.subject == main.subject else "object"
        said_of[reason.adjective][role] += 1
print({word: dict(counts) for word, counts in said_of.items()})

exchanged = "The street did not cross the animal because it was too tired."
print(yours, *translations(translator, [exchanged]))
by_course = {code: load_translator(code)(exchanged) for code in ("de", "fr")}
print("German, bundled:", by_course["de"])
print("French, bundled:", by_course["fr"])
assert "weil sie zu müde" in by_course["de"] and "qu'il était" in by_course["fr"]
assert {tuple(one) for one in said_of.values()} == {("subject",), ("object",)}

# %% [markdown] slide="skip"
# In training *tired* is said of the subject in every single sentence, and *wide* of the
# object. So a model that goes by the place in the sentence, and never learns what a
# street is, gets all of these pronouns right as well. The bundled German translator
# seems to go by the place: it makes the street tired, *sie*. In French the animal is
# tired, *il*, for the street would be *elle*. What does yours do? The grammar has no
# such sentences, so a model may do anything with them, and one sentence is no proof.
# But this is how to look for one: find a sentence in which the two explanations lead to
# different words.

# %% [markdown] slide="subslide"
# ### Where it looks, and which head it needs
#
# Would a map of the weights have told you? Here is the bundled German translator as it
# writes the pronoun of the 120 sentences: how its cross-attention divides its weight,
# and how many pronouns are right when one head is **cut**, which means that what it
# found is not added to the residual stream. One head of the decoder's cross-attention
# takes the most with it. Is it in the layer where you would look for it?

# %%
bundled = load_translator(task.code)
from helpers.experiments.language import LanguageTask

all_words = LanguageTask(task.code, "all", (), (), bundled.source, bundled.target)
looks = pronouns.looked_at(bundled.model, all_words, of_twins)
print("looks at:", ", ".join(f"{word} {share:.0%}" for word, share in looks.items()))
for name, shares in pronouns.without_heads(bundled.model, all_words, of_twins).items():
    heads = "  ".join(f"{share:4.0%}" for share in shares[:-1])
    print(f"{name:18} without head 1 to 4: {heads}   all: {shares[-1]:4.0%}")
assert not as_given or looks["adjective"] > looks["it"] > 0.05

# %% [markdown] slide="skip"
# The map is a mean over all heads, and it gives *it* about half as much weight as the
# adjective, so that you might well have told a story about *it*. When you hid *it* from
# your own model, nearly nothing was lost. A weight shows where a head looks; what it
# needs is seen only when you take something away. And one more surprise: cut the whole
# attention of an encoder layer, and nearly all pronouns stay right; cut it in both, and
# 93 to 96 % do (`docs/experiments.md`, *pronouns_de*). For these sentences the encoder
# is hardly needed to relate words to each other.

# %% [markdown]
# ### A mask in half precision
#
# Why not simply add −1e9? Large models compute in 16 bits. In float16, one of the two
# such formats, the lowest number is −65,504, so −1e9 becomes minus infinity when it is
# added, and torch refuses to fill it in. What will the second half of the cell say?

# %% tags=["nbval-check-output"]
half = torch.zeros(3, dtype=torch.float16)
print("added:", half + torch.tensor(-1e9).half())
try:
    half.masked_fill(torch.tensor([True, False, False]), -1e9)
except RuntimeError as error:
    print(f"{type(error).__name__}: {error}")
print(
    "smallest numbers:", torch.finfo(torch.float16).min, torch.finfo(torch.float32).min
)

# %% [markdown]
# A boolean mask has no such trouble: whoever computes the scores knows their dtype and
# picks the number. Filling with −inf gives NaN in a row with nothing to see, filling
# with `finfo.min` gives equal shares; all other rows come out the same.

# %% [markdown] slide="slide"
# ### A new kind of sentence
#
# Two kinds of sentences were never shown at all. One is a question with *can* or
# *want*; the other begins with a word such as *yesterday* and also has a *because*. The
# model knows the words and the parts of both, but not the combination. Will it manage
# them? And if it does, would you trust another seed to do so, too?

# %%
for name, some in task.constructions.items():
    written = translations(translator, [pair.source for pair in some])
    print(f"{name}: {exact(some, written):.0%} of {len(some)}")
    pair, text = some[0], written[0]
    print(f"  {pair.source}  →  {text}")

# %% [markdown]
# In `docs/experiments.md`, under *sentences_de*, you find the same two kinds for three
# seeds of nearly this training. With each of them at least 99 % of the held-out
# sentences are right, while the questions range from 45 to 98 %. New pairs of words in
# a known kind of sentence are learned reliably here; a new kind of sentence is a matter
# of luck, and a single run would not have told you so.

# %% [markdown] slide="slide"
# ### Beam search: don't decide too early
#
# Greedy decoding takes the best next word and never looks back. A **beam** keeps the
# best few beginnings, and its score is the log-probability of the whole text. So it
# should find a more probable text, if there is one. Does it always?

# %% [markdown]
# Say the first token is A (0.51) or B (0.49). After A there are three equally likely
# tokens, and then a certain one. After B there are two, and then ten. Greedy goes on
# with A. A beam of width 2 compares after two tokens, and drops A:

# %% tags=["nbval-check-output"]
after_two = {"A": 0.51 / 3, "B": 0.49 / 2}  # each beginning of two tokens
whole = {"A": 0.51 / 3 * 1.0, "B": 0.49 / 2 * 0.1}  # with the third
print("after two tokens:", {name: round(p, 4) for name, p in after_two.items()})
print("whole text:      ", {name: round(p, 4) for name, p in whole.items()})

# %% [markdown]
# Both beginnings with B (0.245 each) beat every beginning with A (0.17), and the beam
# is full. The text that greedy decoding found, 0.17, is lost, and the beam ends with
# 0.0245. So a beam can lose. How often does it, in practice, and how often does it win?
# Count, for your translator after 150, after 300 and after 900 steps, on 300 held-out
# sentences. Guess for each: does a beam of 4 find more correct translations than greedy
# decoding?

# %%
from helpers.generation.beam import beam_search, log_probability
from helpers.generation.decoding import greedy_decode


def compared(model, some):
    """Texts and log-probabilities (N,), by greedy decoding and by a beam of 4."""
    ids = task.sources(some)
    real = masks.padding_mask(ids)
    greedy = greedy_decode(model, ids, real, START, END, LONGEST)
    beam, _ = beam_search(model, ids, real, START, END, LONGEST, width=4)
    scores = (log_probability(model, ids, real, one) for one in (greedy, beam))
    return task.texts(greedy), task.texts(beam), *scores


def count(name, some, by_greedy, by_beam, greedy, beam) -> None:
    """Print how often a beam finds a more probable text, and how often a right one."""
    right = [pair.target for pair in some]
    pairs = list(zip(by_greedy, by_beam, right, strict=True))
    print(f"{name}: right {exact(some, by_greedy):.0%} greedy, ", end="")
    print(f"{exact(some, by_beam):.0%} beam")
    print(f"  more probable {(beam > greedy + 1e-4).sum()}, ", end="")
    print(f"less probable {(beam < greedy - 1e-4).sum()}; ", end="")
    print(f"only the beam is right {sum(g != r == b for g, b, r in pairs)}, ", end="")
    print(f"only greedy is right {sum(b != r == g for g, b, r in pairs)}")


# %%
some = task.held_out[:300]
searched = [compared(model, some) for model in stages[1:]]
for steps, found in zip((150, 300, 900), searched, strict=True):
    count(f"after {steps} steps", some, *found)

# %%
by_greedy, by_beam, greedy, beam = searched[0]
gains = [n for n in range(len(some)) if beam[n] > greedy[n] + 1e-4]
for n in gains[:5]:
    print(some[n].source)
    print(f"  greedy {greedy[n]:6.2f}  {by_greedy[n]}")
    print(f"  beam   {beam[n]:6.2f}  {by_beam[n]}")
words = [sum(len(texts[n].split()) for n in gains) for texts in (by_greedy, by_beam)]
print(
    f"words of these {len(gains)} texts: {words[0]} by greedy, {words[1]} by the beam"
)

# %%
show_figure(
    draw.beam_against_greedy(greedy, beam),
    "A point per sentence of the model after 150 steps: log-probability by greedy "
    "decoding against that by beam search. Most lie on the diagonal, nearly all others "
    "above.",
)

# %% [markdown]
# The beam does what it promises. While the model is unsure it finds a more probable
# text for many of the sentences, and hardly ever a less probable one. But look at the
# last two numbers of each line. Of the sentences that only one of the searches got
# right, greedy decoding has nearly as many as the beam, and the count of the words
# names one reason: a sum of log-probabilities falls with every word, so the beam
# likes to leave one out. More probable is not the same as right. And the finished
# model is so sure of its sentences that both searches write the same. Might a beam
# help where a good model meets something new, as with the two kinds of sentences
# above?

# %%
for name, some in task.constructions.items():
    count(name, some, *compared(translator, some))

# %% [markdown]
# There the beam has something to do again, and again it wins some sentences and loses
# others. In all of these counts neither search is ahead by more than a few sentences,
# and a beam of 4 has four beginnings to continue where greedy decoding has one. Try a
# `width` of 2 and of 10. And think of a repair for the missing words: by what would you
# divide the sum? Translators in use do that (Wu et al. 2016, section 7). You will write
# a beam search of your own in lesson 11.

# %% [markdown] slide="slide"
# ## What you can do now
#
# You can write padding, look-ahead and target masks, say what True means, and read a
# printed one. You have turned sentences into batches, shifted targets, computed a loss
# whose floor you know, and trained a translator whose parts are your own. And you have
# asked it, by hiding one word after the other, how it decides what *it* means.
#
# Next, lesson 07: what the Transformer had to beat. It reads one word after the other
# and keeps a single vector of all it has read, and it is trained by the same step.

# %% [markdown] slide="notes"
# **1 minute.** Ask: a colleague shows you a loss that looks too good. What do you test
# first?
#
# Expect: "the data". The mask is quicker: let the model write, or change a word and
# look at what moves before it.
#
# Say: and to learn what a model uses, take something away. Then take their questions.

# %% [markdown] slide="skip"
# **References.** Vaswani et al. 2017, *Attention Is All You Need* (arXiv 1706.03762),
# sections 3.2.3 and 5. Szegedy et al. 2016 (arXiv 1512.00567), for label smoothing.
# Bengio et al. 2015 (arXiv 1506.03099) and Ranzato et al. 2015 (arXiv 1511.06732),
# for the gap between training and writing. Liu et al. 2020 (arXiv 1908.03265) and
# Xiong et al. 2020 (arXiv 2002.04745), on warm-up and where the norm stands. Jain and
# Wallace 2019 (arXiv 1902.10186), *Attention is not Explanation*, and the reply of
# Wiegreffe and Pinter 2019 (arXiv 1908.04626). Michel et al. 2019 (arXiv 1905.10650),
# on heads that can be cut. Wu et al. 2016 (arXiv 1609.08144), section 7, for beam
# search with a length penalty. Stahlberg and Byrne 2019 (arXiv 1908.10090), for
# searches that find more probable and worse translations.
