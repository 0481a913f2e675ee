# %% [markdown] slide="slide"
# # 06 Masks: who may look at whom, and training at last
#
# **How does a model learn to write without ever seeing the answer?**
#
# You need: lessons 02 to 05. Time: {minutes}. Run in one go, the notebook takes
# {run time} on one core, most of it for the training.

# %% [markdown] slide="subslide"
# At the end of this lesson you can
#
# - write the three masks of a Transformer, and read a printed one;
# - test any model for a leak from the future;
# - turn pairs of sentences into batches and take a step of training;
# - train a Transformer that translates numbers it has never seen, and look at how.

# %% [markdown] slide="notes"
# 45 minutes: the two twins (5), masks by hand and 6.A to 6.C (12), the printed mask
# (8), one step of training (10), translation and its alignment (10). Start the
# training cell before the break. Leave 6.F, 6.J and the beam for the lab. Usual
# trouble: which axis is the key axis, and one convention too many.

# %%
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import device, show, training
from helpers.checks import check
from helpers.figures import masks as draw
from helpers.figures import show_figure
from helpers.figures.play import play
from helpers.models import masks
from helpers.models.attention import attention
from helpers.models.transformer import Transformer, TransformerConfig, cross_weights

_ = torch.manual_seed(6)

# %% [markdown]
# **Letters in shape comments**: `B` batch, `T` query length, `S` key length, `H` heads,
# `V` vocabulary. A mask is boolean, True means "may attend", and it broadcasts to
# (B, H, T, S). Id 0 is padding, 1 starts a sentence, 2 ends it.

# %% [markdown] slide="slide"
# ## Why: two twins and one mask
#
# Two small Transformers with the same weights learn the same task: read five symbols,
# write them backwards. They differ in one thing only, the mask of the decoder. Don't
# study the code yet; look at what comes out.


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


# %% slide="skip"
def raise_twin(mask_of):
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


# %%
twins = {name: raise_twin(mask_of) for name, mask_of in TWIN_MASKS.items()}
for name, (loss, right) in twins.items():
    print(f"{name}: loss at the end of training {loss:.3f}, written right {right:.1%}")
assert all(loss < 0.02 for loss, _ in twins.values())
assert twins["twin A"][1] > 0.9 and twins["twin B"][1] < 0.2

# %% [markdown]
# Both losses are practically zero. One twin writes everything right, the other next to
# nothing, and no loss curve would have told you. The mask that twin B has stands, as it
# is, in a published notebook. At the end of this lesson you will spot it at a glance.

# %% [markdown] slide="slide"
# ## By hand: blocked scores
#
# $$\mathrm{Attention}(Q, K, V, mask) = \mathrm{softmax}\!\left(\mathrm{mask}\!
# \left(\frac{QK^\top}{\sqrt{d_{head}}}\right)\right) V$$
#
# Where the mask is False the score becomes minus infinity, its exponential 0, and the
# rest of the row shares out 1. In multi-head attention all heads get the same mask.

# %% tags=["nbval-check-output"]
scores = torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0], [2.0, 2.0, 2.0]])  # (T, S)
allowed = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool()
show("without a mask", scores.softmax(-1))
show("with a mask", scores.masked_fill(~allowed, float("-inf")).softmax(-1))

# %% [markdown]
# Check a row with a pencil: the second query may see two keys with scores 0 and 1, so
# its weights are 1/(1+e) = 0.2689 and e/(1+e) = 0.7311. The first query has one key
# left. It takes all, however small its score.

# %% [markdown] slide="slide"
# ## Hide the padding
#
# Sentences of a batch are filled up with padding to one length. Padding is no word:
# nobody may attend to it. It is the **key** that has to be hidden, from every query and
# every head.

# %% [markdown] exercise="6.A"
# Write the padding mask of a batch of ids. Give it four axes, so that it lines up with
# scores of (batch, heads, query, key).


# %% exercise="6.A"
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

# %%
print(padding_mask(torch.tensor([[4, 5, 6, 0, 0], [7, 8, 9, 3, 0]])))

# %% [markdown] slide="slide"
# ## Hide the future
#
# While it learns, the decoder reads the whole target at once. The prediction at place
# *i* may depend on places up to *i* only, or there is nothing to predict. This is what
# lets it write afterwards, when the future does not exist yet.

# %% [markdown] exercise="6.B"
# Write the look-ahead mask: row = query, column = key. A token may attend to itself and
# to everything before it.


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

# %% [markdown] slide="slide"
# ## Both at once
#
# In its own attention the decoder needs both: no future **and** no padding. Two
# boolean masks that broadcast to the same scores are combined with a logical
# operation, entry by entry.

# %% [markdown] exercise="6.C"
# Write the mask for a batch of targets. Combine your own two masks, or start afresh.


# %% exercise="6.C"
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

# %%
print(target_mask(torch.tensor([[1, 7, 8, 0]])).int())

# %% slide="subslide"
words = ["start", "zwei", "und", "vierzig", "pad"]
example = torch.tensor([[1, 5, 6, 7, 0]])  # (B=1, T=5)
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

# %% [markdown]
# Look at the row of the padding: it may attend. That is harmless, as nobody looks at
# what comes out there, and a row with nothing to attend to would be worse (exercise
# 2.K). Look closer still: for the real queries the last two masks agree.

# %% tags=["nbval-check-output"]
real = example[0] != 0
both, ahead = masks.target_mask(example)[0, 0], masks.look_ahead_mask(5)
print("same for all real queries:", torch.equal(both[real], ahead[real]))

# %% [markdown]
# Padding at the end lies in every real token's future, so the look-ahead mask hides it
# already. The padding part starts to matter when padding stands elsewhere, or when the
# future is open: in the encoder, and in the look from decoder to encoder.

# %% [markdown] slide="subslide"
# See it happen to the weights of one head, whose scores are random and stay the same.
# Take the padding mask off and watch the rows of the real words: not one number moves.
# Then put the padding in front, where a batch that is to be continued has it, and take
# the mask off again: now every real word gives some of its weight to *pad*. With both
# masks on, look at the first row. It has no key left, and a softmax over nothing but
# minus infinity is 0/0, which is not a number.

# %%
play(draw.masks_by_hand(["start", "zwei", "und", "vierzig"]))

# %% [markdown] slide="slide"
# ## One word, four conventions
#
# | who | what stands for "may attend" |
# |---|---|
# | this course, `F.scaled_dot_product_attention` | True |
# | `nn.MultiheadAttention`, `nn.Transformer` | False (True = blocked) |
# | `attention_mask` in `transformers` | 1 |
# | code that computes `scores + mask * -1e9` | 0 (1 = blocked) |

# %% tags=["nbval-check-output"]
x = torch.randn(1, 4, 8, generator=torch.Generator().manual_seed(1))  # (B, T, D)
layer = nn.MultiheadAttention(8, 2, batch_first=True)
ahead = masks.look_ahead_mask(4)
for name, mask in (("ours", ahead), ("turned round", masks.blocked(ahead))):
    _, weights = layer(x, x, x, attn_mask=mask)
    print(
        f"{name:13} row 1 of nn.MultiheadAttention sees", weights[0, 1].nonzero()[:, 0]
    )

# %% [markdown]
# No error, no warning: the wrong convention gives the right shape and the wrong model.
# Decide on one meaning, convert once where a library begins (here `masks.blocked`), and
# test.

# %% [markdown] exercise="6.D" slide="slide"
# A published notebook builds its masks like this (in our words; the comments are the
# original's meaning). Where the mask is used, it says `scores + mask * -1e9`. Read
# the printed mask. Which keys does the **first** query really get to see? Give their
# places, counted from 0, in rising order, as a tuple such as `(5, 6)`.


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
# Run it: the attention of that decoder on random vectors, and the same with our mask.

# %% tags=["nbval-check-output"]
x = torch.randn(5, 8, generator=torch.Generator().manual_seed(2))  # (T, D)
scores = x @ x.T / 8**0.5 + published_target_mask(target)[0, 0] * -1e9
show("published", scores.softmax(-1), digits=3)
_, weights = attention(x, x, x, masks.target_mask(target)[0, 0], need_weights=True)
show("right", weights, digits=3)

# %% [markdown]
# Past and self are blocked, the future is open: the look-ahead mask means "1 = may
# attend", the rest of the code "1 = blocked". The padding mask does mean "1 = blocked",
# and just its docstring says otherwise. One maximum then mixes two conventions.

# %% [markdown]
# And the last two rows? All ones: everything is blocked. Adding −1e9 to *every* score
# of a row changes nothing after the softmax but the rounding: 0.2 for each key, padding
# and future included. A blocked row that reads everything is the quietest leak of all.

# %% [markdown] exercise="6.E"
# Twin B learned with just this mask. Its training loss was as good as its sister's.
# **Why can the training loss not show the leak**, and what would have shown it? Write
# five or six sentences.

# %% [markdown] answer="6.E"
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

# %% [markdown] exercise="6.F" slide="slide"
# Never trust a mask that you have only read. Write a test for **any** model that maps
# ids (B, T) to logits (B, T, V): change one token and look which rows of the logits
# change. It is judged on models that are right and on models that leak, some at a
# single place. One of those it gets again and again: a test that finds a leak only most
# of the time will miss it once.


# %% exercise="6.F"
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
check("6.F", is_causal)

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
# Your test on two decoders, one with our mask and one with twin B's. It needs no
# training and takes milliseconds, so it belongs into the tests of every model that
# writes.


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
# ## A mask in half precision
#
# Why not simply add −1e9? Large models compute in 16 bits. In float16, one of the two
# such formats, the smallest number is −65,504. There −1e9 is minus infinity, and torch
# refuses to fill it in.

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
# A boolean mask has no such trouble: whoever computes the scores knows their dtype
# and picks the number. Filling with −inf gives NaN in a row with nothing to see,
# filling with `finfo.min` gives equal shares; for all other rows they are the same.

# %% [markdown] slide="slide"
# ## From pairs to a batch
#
# A pair is two lists of ids, each with start and end. For a batch, every side is
# filled up to its own longest sentence. Then the target is used twice: the decoder
# **reads** it without its last token and **should say** it without its first.

# %%
show_figure(
    draw.shifted(["start", "zwei", "und", "vierzig", "end"]),
    "Two rows of tokens. The decoder reads start, zwei, und, vierzig; below each "
    "stands what it should say: zwei, und, vierzig, end.",
)

# %% [markdown]
# This is **teacher forcing**: at each place the model gets the true beginning, whatever
# it would have written itself. All places of all sentences learn in one pass, and the
# look-ahead mask keeps it honest.

# %% [markdown] exercise="6.G"
# Write both steps: `collate` lays pairs into two tensors, `shift` splits a target into
# what is read and what should be said.


# %% exercise="6.G"
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
check("6.G", collate, shift)

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
# ## The loss
#
# Cross-entropy between the logits at each place and the label there. Two refinements:
# padding is no label, so those places **do not count**; and the labels are
# **smoothed**.

# %% [markdown]
# Label smoothing moves a share ε = 0.1 from the right word to all words evenly. The
# model is not rewarded for being infinitely sure. By hand, for four words of which
# the third is right: 0.9 + 0.025 for it, 0.025 for each other.

# %% tags=["nbval-check-output"]
logits, label = torch.tensor([[0.5, 0.1, 2.0, -0.3]]), torch.tensor([2])
smooth = 0.9 * F.one_hot(label, 4) + 0.1 / 4  # (1, V=4)
show("smoothed label", smooth)
show("by hand", -(smooth * logits.log_softmax(-1)).sum())
show("by torch", F.cross_entropy(logits, label, label_smoothing=0.1))

# %% [markdown]
# With smoothed labels the loss can't reach 0. Its floor is the entropy of the label
# itself, here for a vocabulary of 80 words. Remember that number when you look at the
# loss curve.

# %% tags=["nbval-check-output"]
label = torch.full((80,), 0.1 / 80)
label[0] += 0.9
floor = -(label * label.log()).sum()
show("floor of the loss", floor, digits=3)

# %% [markdown] exercise="6.H" slide="slide"
# One step of training: shift the target, make the masks, run the model, compute the
# smoothed loss over the real labels, and update the weights. The published notebook had
# such a function, but never called it. What it does when called stands below the hints.


# %% exercise="6.H"
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
    written, labels = target[:, :-1], target[:, 1:]  # (B, T)
    logits = model(
        source, written, masks.padding_mask(source), masks.target_mask(written)
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
check("6.H", train_step)

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

# %%
for step in range(5):
    print(f"step {step + 1}: loss {train_step(small, optimizer, source, target):.3f}")

# %% [markdown]
# And the published function? It makes its masks from the whole target and feeds the
# model the target without its last token. Read the message as you would read a map:
# which axis, which two lengths?

# %% locked=true tags=["nbval-check-output"]
source, target = torch.tensor([[4, 5, 6, 7]]), torch.tensor([[1, 7, 6, 5, 4, 2]])
whole = masks.target_mask(target)  # (B, 1, 6, 6), but the decoder reads 5 tokens
tiny = Transformer(TransformerConfig(13, 13, 16, 2, 32, 1, 16))
try:
    tiny(source, target[:, :-1], masks.padding_mask(source), whole)
except RuntimeError as error:
    print(f"{type(error).__name__}: {error}")

# %% [markdown] slide="slide"
# ## Warm up, then cool down
#
# $$rate = d_{model}^{-0.5} \cdot \min(step^{-0.5},\; step \cdot warmup^{-1.5})$$
#
# The paper's learning rate rises in a straight line for `warmup` steps, then falls
# with the root of the step. The usual reason: at first Adam knows little about the
# gradients' size, and large steps into the dark do damage. (We did not measure it
# here. The published notebook sets a constant 1e-4 for twelve post-norm layers, and
# never trains them.)

# %% [markdown] exercise="6.J"
# Write the schedule. Steps are counted from 1.


# %% exercise="6.J"
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
check("6.J", noam_schedule)

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

# %% [markdown] slide="slide"
# ## See it on something real: English numbers into German
#
# *forty-two* is *zweiundvierzig*: two-and-forty. The task is small and exact, and yet
# words change places. There are 10,000 pairs below 10,000. A tenth of the **numbers**
# is held out: the model never sees them in any form.

# %% tags=["translation"]
from helpers.experiments.translation import (
    exact_match,
    misses,
    number_task,
    pair_batches,
    translation_loss,
)
from helpers.figures.training import loss_curve

task = number_task()
print(len(task.train), "pairs to learn from,", len(task.held_out), "held out")
print(len(task.source), "source ids,", len(task.target), "target ids")
print(task.source.tokens("three hundred and forty-two"))
print(task.target.tokens("dreihundertzweiundvierzig"))

# %% [markdown]
# The pieces were learned from the training texts (lesson 10 shows how). Model and
# training follow the paper in small: Adam with its betas, its schedule, label
# smoothing. Four liberties: pre-norm (lesson 04), no dropout, gradients clipped to
# length 1, and a rate that ends at 0. With the paper's rate alone, the score of some
# seeds still jumped about at the end of our trials.

# %% tags=["translation"]
seed, where = 6, device()
torch.manual_seed(seed)
config = TransformerConfig(
    len(task.source), len(task.target), d_model=64, num_heads=4, d_ff=256,
    num_layers=2, max_length=64, dropout=0.0, norm_first=True,
)  # fmt: skip
translator = Transformer(config).to(where)
print(f"{sum(p.numel() for p in translator.parameters()):,} parameters")


# %% tags=["translation"]
def smooth_loss(model, batch):
    """What `train_step` minimises."""
    return translation_loss(model, batch, smoothing=0.1)


def rate(step: int) -> float:
    """The paper's schedule, led down to 0 over the last 200 of 600 steps."""
    cool_down = min(1, (601 - step) / 200)
    return cool_down * training.noam_schedule(step, d_model=64, warmup=200)


batches = pair_batches(task.ids(task.train), 64, seed, where)
optimizer = torch.optim.Adam(translator.parameters(), betas=(0.9, 0.98), eps=1e-9)

# %% [markdown]
# `training.train` is your `train_step` in a loop, with schedule, clipping and a
# progress bar. Read it with `training.train??`. First 60 steps, and a copy of the
# half-trained model for later.

# %% tags=["translation"]
import copy

options = {"schedule": rate, "clip": 1.0, "name": "translation"}
history = training.train(translator, batches, smooth_loss, optimizer, 60, **options)
half_trained = copy.deepcopy(translator).eval()

# %% tags=["translation"]
options["history"] = history
training.train(translator, batches, smooth_loss, optimizer, 540, **options)
translator.eval()
print(f"{len(history.loss)} steps, {history.seconds:.0f} seconds")

# %%
show_figure(
    loss_curve(history, floor=floor.item(), title="English to German"),
    "The training loss falls from above 4 to just above its floor of 0.754 within some "
    "100 steps and stays there. Below, the learning rate: up, slowly down, then to 0.",
)

# %% [markdown]
# The loss stops near the floor that you computed, not at 0. Whether the model can
# **translate** is another question, and twin B has taught you to ask it: let it write
# the 1,000 held-out numbers, greedily, and count the ones that are right in every
# letter.

# %% tags=["translation"]
from helpers.corpora.numbers import END, START
from helpers.generation.decoding import greedy_decode

held_out = task.sources(task.held_out).to(where)  # (B=1000, S)
real = masks.padding_mask(held_out)
written = greedy_decode(translator, held_out, real, START, END, max_new_tokens=12)
texts = task.texts(written)
score = exact_match(task.held_out, texts)
print(f"exact match on held-out numbers: {score:.1%}")
assert score >= 0.97

# %% slide="fragment"
for pair, text in list(zip(task.held_out, texts, strict=True))[300:900:150]:
    print(f"{pair.source}  →  {text}")
wrong = misses(task, texts)
print(f"\nwrong: {len(wrong)}")
for pair, text in wrong[:5]:
    print(f"{pair.source}  →  {text}, not {pair.target}")

# %% [markdown]
# Look at what goes wrong, if anything does: bare tens and round hundreds are rare among
# the training pairs. One good run may be luck. So the maintainers have a command,
# `python -m tools.experiments translation`, that repeats it with five other seeds.

# %% [markdown] slide="slide"
# ## Watch the words change places
#
# While the model writes *zwei, und, vierzig*, where does it look in *forty-two*? The
# weights of its cross-attention tell: a row for each token it writes next, a column for
# each token it reads.


# %% tags=["translation"]
def crossing(model, source_text: str, target_text: str):
    """Cross-attention while a pair is read and written: (layers, H, T, S), tokens."""
    source = torch.tensor([task.source.encode(source_text)], device=where)
    target = torch.tensor([task.target.encode(target_text)], device=where)[:, :-1]
    with torch.no_grad():
        found = cross_weights(
            model, source, target, masks.padding_mask(source), masks.target_mask(target)
        )
    read = ["start", *task.source.tokens(source_text), "end"]
    said = [*task.target.tokens(target_text), "end"]
    return torch.cat(found).cpu(), said, read


# %% tags=["translation"]
weights, said, read = crossing(translator, "forty-two", "zweiundvierzig")
two, forty = read.index("two"), read.index("forty")
print(said, read)
crossed = weights[:, :, 0, two] + weights[:, :, 2, forty]  # (layers, H), 2 at most
layer, head = divmod(crossed.argmax().item(), weights.shape[1])
mean = weights.mean((0, 1))  # (T, S)
print("zwei looks at", read[mean[0].argmax()], "and vierzig at", read[mean[2].argmax()])
assert mean[0].argmax() == two and mean[2].argmax() == forty and crossed.max() > 1.5

# %%
show_figure(
    draw.alignments(
        {
            "mean of all heads": mean,
            f"clearest: layer {layer}, head {head}": weights[layer, head],
        },
        said,
        read,
    ),
    "Cross-attention for forty-two to zweiundvierzig. The row zwei is dark at two, the "
    "row vierzig is dark at forty: the two cross.",
)

# %% [markdown]
# Nobody showed the model which word belongs to which. In the mean of all heads *zwei*
# looks at *two* and *vierzig* at *forty*: the two rows cross. Try other numbers, and
# keep in mind: a weight shows where a head looked, not why.

# %% [markdown] slide="slide"
# ## Beam search: don't decide too early
#
# Greedy decoding takes the best next token and never looks back. A **beam** keeps the
# best few beginnings. Its score is the log-probability of the whole text. Usually it
# finds a likelier one than greedy decoding, but not always:

# %% [markdown]
# Say the first token is A (0.51) or B (0.49). After A come three tokens, equally
# likely, and then a sure one. After B come two, and then ten. Greedy goes on with A.
# A beam of width 2 compares after two tokens, and drops A:

# %% tags=["nbval-check-output"]
after_two = {"A": 0.51 / 3, "B": 0.49 / 2}  # each beginning of two tokens
whole = {"A": 0.51 / 3 * 1.0, "B": 0.49 / 2 * 0.1}  # with the third
print("after two tokens:", {name: round(p, 4) for name, p in after_two.items()})
print("whole text:      ", {name: round(p, 4) for name, p in whole.items()})

# %% [markdown]
# Both beginnings with B (0.245 each) beat every beginning with A (0.17), and the beam
# is full. The text that greedy found, 0.17, is lost; the beam ends with 0.0245. So
# count, for the finished model and for the half-trained one, on 300 held-out numbers:

# %%
from helpers.generation.beam import beam_search, log_probability

some, some_pairs = held_out[::3][:300], task.held_out[::3][:300]
some_real = masks.padding_mask(some)


def both_searches(model):
    """Log-probabilities (300,) and texts, by greedy decoding and by a beam of 4."""
    found = (
        greedy_decode(model, some, some_real, START, END, 12),
        beam_search(model, some, some_real, START, END, 12, width=4)[0],
    )
    scores = (log_probability(model, some, some_real, written) for written in found)
    return *(score.cpu() for score in scores), *map(task.texts, found)


# %%
searched = {}
for name, model in (("half-trained", half_trained), ("trained", translator)):
    greedy, beam, *texts = searched[name] = both_searches(model)
    print(f"{name}: mean log-probability", end=" ")
    print(f"{greedy.mean():.3f} greedy, {beam.mean():.3f} beam")
    print("  exact match", *(f"{exact_match(some_pairs, one):.1%}" for one in texts))
    better, worse = (beam > greedy + 1e-4).sum(), (beam < greedy - 1e-4).sum()
    print(
        f"  beam found a likelier text {better} times, a less likely one {worse} times"
    )
    assert beam.mean() >= greedy.mean() - 1e-4

# %%
greedy, beam, by_greedy, by_beam = searched["half-trained"]
gain = beam - greedy
for kind, found in (("better", gain > 1e-4), ("worse", gain < -1e-4)):
    print(f"beam {kind}: {int(found.sum())} of {len(found)}")
    for n in found.nonzero()[:3, 0].tolist():
        print(f"  {some_pairs[n].target}")
        print(f"    greedy {greedy[n]:6.2f}  {by_greedy[n]}")
        print(f"    beam   {beam[n]:6.2f}  {by_beam[n]}")

# %%
show_figure(
    draw.beam_against_greedy(greedy, beam),
    "A point per number of the half-trained model: log-probability by greedy decoding "
    "against that by beam search. Most lie on the diagonal, many above it.",
)

# %% [markdown]
# Two lessons. The surer a model is, the less a search can add. And likelier is not
# the same as right: compare the exact matches of the half-trained model. You will
# write your own beam search in lesson 11.

# %% [markdown] slide="slide"
# ## What you can now do
#
# - Write padding, look-ahead and target masks, and say what True means.
# - Read a printed mask, and test a model for leaks without training it.
# - Build batches, shift targets, and train a Transformer with the paper's recipe.
# - Measure what counts: held-out examples, written out in full.
#
# Next, lesson 07: what the Transformer had to beat. What else can be built from these
# parts: BERT from your encoder (lesson 09), GPT from your decoder (10), and another
# kind of attention (08).

# %% [markdown] slide="skip"
# **References.** Vaswani et al. 2017, *Attention Is All You Need* (arXiv 1706.03762),
# sections 3.2.3 and 5. Szegedy et al. 2016 (arXiv 1512.00567), for label smoothing.
# Xiong et al. 2020 (arXiv 2002.04745), on why pre-norm can do without warm-up. Wu et
# al. 2016 (arXiv 1609.08144), section 7, for beam search with a length penalty.
# Stahlberg and Byrne 2019 (arXiv 1908.10090), for searches that find likelier and
# worse translations.
