# %% [markdown] slide="slide"
# # 01 Embeddings: words as vectors, and where they stand
#
# **How can numbers say what a word means, and which place it has in a sentence?**
#
# You need: vectors, the dot product, a little PyTorch. Time: about 120 minutes, of
# which 50 are the core path (★). Everything runs on your laptop's CPU, without a
# network.

# %% [markdown] slide="subslide"
# At the end of this lesson you can
#
# - look up word vectors without a library, and say what every axis means;
# - measure how alike two words are, and tell a trained table from an untrained one;
# - write the positional encoding from its formula, and a test that finds a wrong one;
# - explain what a model without positions can't know, and show it on a real model.

# %% [markdown] slide="notes"
# 45 minutes: why and hand example (8), live coding of 1.1 (5), real neighbours and the
# analogies (10), positions by hand and 1.4 (12), dog bites man (5), questions (5).
# Leave 1.3, 1.5 and 1.6 for the lab. Usual trouble: the index i that already counts by
# twos, and the hope that a fresh embedding table knows something.

# %%
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import show
from helpers.checks import check
from helpers.figures import embeddings as draw
from helpers.figures import show_figure
from helpers.models import positions
from helpers.pretrained import load_encoder, load_tokenizer
from helpers.text import word_vectors

_ = torch.manual_seed(42)

# %% [markdown]
# **Letters in shape comments**, the same in every lesson: `B` batch, `T` length, `D`
# d_model (numbers per vector), `V` vocabulary. What stands in `word_vectors` and
# `positions` is the course's own, so that no cell below depends on your answers.

# %% [markdown] slide="slide"
# ## Why: a number is not a meaning
#
# A model computes with numbers, so each word gets one: cat 0, dog 1, car 2. Is a dog as
# far from a cat as from a car? The numbers say so, and mean nothing. The honest
# translation is *one-hot*: a 1 at the word's own place, 0 elsewhere.

# %% tags=["nbval-check-output"]
one_hot = F.one_hot(torch.tensor([0, 1, 2]))  # cat, dog, car
show("dot products", one_hot @ one_hot.T)

# %% [markdown]
# Now all words are equally unlike: whatever the model learned about *dog* is no help
# with *puppy*. And a vector has as many entries as there are words. We want short,
# dense vectors in which alike words lie close together. Such a vector is called an
# *embedding*.

# %% [markdown] slide="slide"
# ## From text to ids
#
# A *tokenizer* cuts a text into pieces of a fixed list, the vocabulary, and gives each
# its number. Pieces can be words, characters, or, as in BERT, common words and parts of
# the rest. (How those parts are chosen: lesson 09.)

# %%
tokenizer = load_tokenizer()
for text in ("I love Paris", "I love transformers", "a transformer"):
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    print(tokenizer.convert_ids_to_tokens(ids), ids)

# %% [markdown]
# This vocabulary knows *transformers* but, by an accident of counting, no
# *transformer*: that is two pieces. (This one is lower case; BERT's cased relative
# keeps *Paris*.)

# %% [markdown] slide="slide"
# ## By hand: a table of five words
#
# Five words, three numbers each. The embedding of a word is its row, $e_i = E_{i,:}$.
# Multiply the one-hot vector of *transformer* with the table on paper, then compare.

# %% tags=["nbval-check-output"]
tiny = ["hello", "world", "transformer", "example", "embedding"]
E = torch.arange(1.0, 16.0).view(5, 3) / 10  # (V=5, D=3): .1 .2 .3 / .4 .5 .6 / ...
hot = F.one_hot(torch.tensor(tiny.index("transformer")), 5).float()  # (V,)
show("one-hot", hot, 0)
show("one-hot @ E", hot @ E)
show("row 2 of E", E[2])

# %% [markdown]
# A product with a one-hot vector fetches one row. So nobody multiplies: an embedding
# layer is a **look-up**. Three numbers fit on paper; spaCy's large English vectors have
# 300, the encoder below 384, and OpenAI's text-embedding-3-large 3,072 (announcement,
# January 2024).

# %% [markdown] exercise="1.1"
# Write the look-up for a whole batch of sentences. `ids` can have any number of axes;
# each id becomes a vector. Don't use `nn.Embedding` or `F.embedding`.


# %% exercise="1.1"
def embed(table: Tensor, ids: Tensor) -> Tensor:
    """Look up the vector of every token.

    Args:
        table: (V, D), a row for each word of the vocabulary
        ids: whole numbers from 0 to V - 1, any shape, for example (B, T)

    Returns:
        One more axis than ids: (B, T, D) for ids (B, T).
    """
    ### BEGIN SOLUTION
    return table[ids]
    ### END SOLUTION


# %%
check("1.1", embed)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# `E[2]` fetched one row. What if you put a tensor of numbers between the brackets?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The PyTorch documentation calls this advanced indexing: the shape of the index takes
# the place of the axis that it indexes.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# index the first axis of the table with all ids at once; return that.
# </details>

# %%
print(tuple(embed(E, torch.tensor([[2, 0], [4, 4]])).shape))
show("'transformer' twice?", embed(E, torch.tensor([2, 2])))

# %% [markdown] exercise="1.1b"
# The library's layer does the same and keeps the table as a parameter. Say before you
# look: which **shapes** have `out[0]`, `out[0, 2]` and `out[:, 2]`? Store three tuples.
# One notebook that we learned from printed `out[0]` as "the vector of *Transformer*".

# %% tags=["nbval-check-output"]
layer = nn.Embedding(20, 300)  # V = 20, D = 300
sentences = torch.tensor([[3, 5, 9], [3, 7, 9]])  # "I love transformers", "I fear ..."
out = layer(sentences)
print("out", tuple(out.shape))

# %% exercise="1.1b"
### BEGIN SOLUTION
shape_of_first = (3, 300)  # the whole first sentence
shape_of_first_third = (300,)  # "transformers", in the first sentence
shape_of_all_third = (2, 300)  # the third word of both sentences
### END SOLUTION

# %%
check("1.1b", shape_of_first, shape_of_first_third, shape_of_all_third)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# `out` is (B=2, T=3, D=300). Which axis does a single index count along?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# A whole number removes its axis, a colon keeps it, and axes that you don't mention
# stay.
# </details>

# %% [markdown]
# What does such a layer learn from a sentence? Only the rows that were looked up get a
# gradient. A word that never occurs keeps its random start for ever.

# %% tags=["nbval-check-output"]
out.sum().backward()
touched = layer.weight.grad.abs().sum(1).nonzero().flatten()
print("rows with a gradient:", touched.tolist())

# %% [markdown] exercise="1.1c"
# The same notebook built `nn.Embedding(1_000_000, 300)` to show three words. How many
# **bytes** is that table? Work it out *before* you ever run such a cell, and store a
# number.

# %% exercise="1.1c"
### BEGIN SOLUTION
table_bytes = 1_000_000 * 300 * 4  # a float32 takes 4 bytes
### END SOLUTION

# %%
check("1.1c", table_bytes)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# How many numbers are in the table, and how many bits has a float32?
# </details>

# %% tags=["nbval-check-output"]
on_paper = nn.Embedding(1_000_000, 300, device="meta")  # shapes only, nothing allocated
print(f"{on_paper.weight.nbytes / 2**30:.3f} GiB")

# %% [markdown] slide="slide"
# ## How alike are two words?
#
# By the angle between their vectors, whatever their lengths:
#
# $$\cos(u, v) = \frac{u \cdot v}{\lVert u \rVert\, \lVert v \rVert}$$
#
# 1 is the same direction, 0 a right angle, −1 the opposite. By hand: [3, 4] and [4, 3].

# %% tags=["nbval-check-output"]
a, b = torch.tensor([3.0, 4.0]), torch.tensor([4.0, 3.0])
show("dot product", a @ b)
show("lengths", torch.stack([a.norm(), b.norm()]))
show("cosine", F.cosine_similarity(a, b, dim=0))

# %% [markdown] exercise="1.2"
# Write the cosine of one vector with every row of a table at once. No row is zero.
# Don't call torch's own `cosine_similarity`.


# %% exercise="1.2"
def cosine_similarity(u: Tensor, V: Tensor) -> Tensor:
    """Cosine of the angle between one vector and each row of a table.

    Args:
        u: (D,)
        V: (n, D)

    Returns:
        (n,), from -1 to 1.
    """
    ### BEGIN SOLUTION
    #: lengths = ...  # (n,)
    lengths = u.norm() * V.norm(dim=-1)  # (n,)
    return V @ u / lengths
    ### END SOLUTION


# %%
check("1.2", cosine_similarity)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# How many dot products are there, and how many lengths?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# A matrix times a vector is all dot products at once. `norm` takes the axis to run
# along.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# dots: the table times u; lengths: that of u times those of the rows; divide.
# </details>

# %% [markdown]
# In the five-word table above, *hello* has these cosines with all five. Everything
# looks like everything, because the numbers are a ruler and no meaning: nobody trained
# them.

# %% tags=["nbval-check-output"]
show("cosines of hello", F.cosine_similarity(E[0], E))
show("cosine of example, embedding", F.cosine_similarity(E[3], E[4], dim=0), 5)

# %% [markdown] slide="slide"
# ## Real vectors
#
# Where do good numbers come from? From training: the table is a parameter like any
# other. Here is one that has been trained, the embedding matrix of all-MiniLM-L6-v2, an
# encoder of the BERT family. We put its whole words into spaCy, a library for text.

# %% tags=["nbval-check-output"]
nlp = word_vectors.load()
for word in ("Paris", "robot", "transformer"):
    token = nlp(word)[0]
    known = "in the table" if token.has_vector else "no vector: spaCy gives zeros"
    print(f"{word:12} {token.vector.shape} {known}")

words, vectors = word_vectors.whole_words(nlp)  # n words in small letters, and (n, D)
print(f"{len(words):,} words, {vectors.shape[1]} numbers each")

# %% [markdown]
# Beware of the zeros: their cosine with anything is 0 divided by 0. (With spaCy's
# `en_core_web_lg` installed, the same cells use its vectors of 300 numbers instead.
# What the text says about single words is about the bundled table.)

# %% [markdown] exercise="1.3"
# Find the **nearest** words of a word by cosine, without the word itself. Then solve an
# **analogy**: *a* is to *b* as *c* is to which word? Step from *a* to *b*, start from
# *c*, and take the word nearest to where you arrive. The words you asked with can't be
# the answer.


# %% exercise="1.3"
def nearest(word: str, k: int, words: list[str], vectors: Tensor) -> list[str]:
    """The k words most similar to a word by cosine, the most similar first.

    Args:
        word: one of words; not part of the result
        k: how many
        words: n words
        vectors: (n, D), their vectors
    """
    ### BEGIN SOLUTION
    similarity = F.cosine_similarity(vectors[words.index(word)], vectors)  # (n,)
    similarity[words.index(word)] = -2.0  # below every cosine
    return [words[row] for row in similarity.topk(k).indices]
    ### END SOLUTION


def analogy(a: str, b: str, c: str, words: list[str], vectors: Tensor) -> str:
    """The word that is to c as b is to a: the nearest one to b - a + c by cosine.

    The vectors are added as they are. None of a, b and c is the answer.
    """
    ### BEGIN SOLUTION
    asked = [words.index(word) for word in (a, b, c)]
    from_a, to_b, from_c = vectors[asked]
    similarity = F.cosine_similarity(from_c + to_b - from_a, vectors)
    similarity[asked] = -2.0
    return words[similarity.argmax()]
    ### END SOLUTION


# %%
check("1.3", nearest, analogy)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which word is always the most similar one to *dog*? What follows for the k you ask
# for?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `words.index(word)` says which row; `topk` sorts the largest first;
# `F.cosine_similarity` is allowed here. A cosine is never below −1.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# cosines of the target with all rows; those of the words asked with: set far down; take
# the largest; turn rows into words.
# </details>

# %%
print("nearest to dog:", nearest("dog", 5, words, vectors))
print("man is to king as woman is to", analogy("man", "king", "woman", words, vectors))

# %% slide="subslide" tags=["nbval-check-output"]
for word in ("dog", "berlin", "swimming", "seven", "bank"):
    print(f"{word:9}", *word_vectors.nearest(word, 6, words, vectors))

# %% [markdown]
# Nobody told the table that *swam* belongs to *swimming*; it has read text. Note
# *bank*: one row serves the money and the river, and money won. Lesson 09 shows how a
# whole encoder gives *bank* a different vector in each sentence.

# %% slide="subslide" tags=["nbval-check-output"]
questions = """man king woman queen; france paris germany berlin; dog puppy cat kitten
man woman brother sister; run running swim swimming; france paris japan tokyo
write wrote sing sang; big bigger small smaller; france french germany german
boy girl prince princess; good better bad worse; germany berlin france paris
brother sister uncle aunt; france paris spain madrid; france paris italy rome"""
asked = [line.split() for line in questions.replace("\n", ";").split(";")]
found = {tuple(one): word_vectors.analogy(*one[:3], words, vectors) for one in asked}

for (a, b, c, expected), answer in found.items():
    note = "" if answer == expected else f"   (we hoped for {expected})"
    print(f"{a} is to {b} as {c} is to {answer}{note}")

# %% slide="skip"
right = {answer for (*_, expected), answer in found.items() if answer == expected}
if word_vectors.is_bundled(nlp):
    assert {"queen", "berlin", "sister", "swimming"} <= right
    assert len(right) == 13

# %% [markdown]
# 13 of our 15 come out, and two don't: Spain gets *barcelona*, Italy gets *italian*. A
# fair picture needs one more number. How many come out if the three words are **not**
# excluded?

# %% tags=["nbval-check-output"]
row_of = {word: row for row, word in enumerate(words)}
count = 0
for a, b, c, expected in asked:
    arrived = vectors[row_of[b]] - vectors[row_of[a]] + vectors[row_of[c]]
    count += words[F.cosine_similarity(arrived, vectors).argmax()] == expected
print(f"without the exclusion: {count} of {len(asked)} right")

# %% [markdown]
# One. King − man + woman is nearest to *king*: the step is short, and the rule that
# forbids *king* does much of the work. The step does point the right way, as the plane
# shows.

# %% slide="subslide"
pairs = [("man", "woman"), ("king", "queen")]
chosen = [row_of[word] for side in zip(*pairs, strict=True) for word in side]
show_figure(
    draw.steps(pairs, draw.plane(vectors[chosen])),
    "Four words in a plane. The arrows from man to woman and from king to queen "
    "point in nearly the same direction.",
)

# %% [markdown]
# A plane can show two directions of 384. PCA picks the two in which the chosen words
# differ most. Neighbours in the plane may be far apart in truth; groups that are apart
# in the plane are apart.

# %% slide="subslide"
groups = {
    "animals": "dog puppy cat kitten horse sheep",
    "places": "france paris germany berlin italy rome",
    "numbers": "two three four six seven",
    "music": "guitar piano violin song singer",
    "motion": "swimming swam running walked walking",
}
groups = {name: line.split() for name, line in groups.items()}
chosen = [row_of[word] for line in groups.values() for word in line]
show_figure(
    draw.word_map(groups, draw.plane(vectors[chosen])),
    "27 words in a plane: places, numbers and animals form groups of their own; words "
    "of music and of motion lie near each other in between.",
)

# %% slide="subslide"
some = "dog puppy cat kitten paris berlin france two three guitar piano".split()
few = F.normalize(vectors[[row_of[word] for word in some]], dim=1)
show_figure(
    draw.similarity_map(some, few @ few.T),
    "A table of cosines between eleven words. Dark blocks on the diagonal: dog, puppy, "
    "cat and kitten; paris, berlin and france; two and three; guitar and piano.",
)

# %% [markdown] exercise="1.3b"
# Three tables of 300 rows: one fresh from `nn.Embedding`, one a ruler like the
# five-word table, one trained. Below is how often each cosine occurs between two
# different rows (mind the logarithmic axis). **Which is the trained one?** Store its
# letter.


# %%
def cosines_of_pairs(table: Tensor) -> Tensor:
    """Each pair of different rows once."""
    rows = F.normalize(table, dim=1)
    above = torch.ones(len(rows), len(rows), dtype=torch.bool).triu(1)
    return (rows @ rows.T)[above]


tables = word_vectors.mystery_tables()
mystery = {name: cosines_of_pairs(table) for name, table in tables.items()}
show_figure(
    draw.histograms(mystery),
    "Three histograms of cosines. A is a narrow bell around 0, B stands close to 1, "
    "C is a bell around 0 with a long tail to the right, up to about 0.75.",
)

# %% exercise="1.3b"
### BEGIN SOLUTION
trained_table = "C"
### END SOLUTION

# %%
check("1.3b", trained_table)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# A word is unlike most words and like a few. What does that do to a histogram?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Random directions in D dimensions have cosines that spread by about 1/√D around 0.
# </details>

# %% [markdown]
# So a table says nothing about meaning until it is trained, whatever text stands beside
# it. Over all words, an untrained row's *best* neighbour is worse than what a trained
# row has:

# %% tags=["nbval-check-output"]
untrained = torch.randn(vectors.shape, generator=torch.Generator().manual_seed(1))
best = {}
for name, table in (("untrained", untrained), ("trained", vectors)):
    rows = F.normalize(table, dim=1)
    cosines = rows[::50] @ rows.T  # every 50th word with all words
    spread = cosines[cosines < 0.9999].std()
    best[name] = cosines.topk(2).values[:, 1].mean()  # the first is the word itself
    print(f"{name:10} spread {spread:.3f}   best neighbour {best[name]:.2f}")
print(f"1/sqrt(D)  {vectors.shape[1] ** -0.5:.3f}")
assert best["trained"] > 2 * best["untrained"]

# %% [markdown] slide="slide"
# ## Where a word stands
#
# A recurrent network (lesson 07) reads word after word, so it knows the order. A
# transformer sees all words at once. That makes it fast, because nothing has to wait
# for the word before; the price is that the order is lost.

# %% [markdown]
# So the order has to be put into the vectors: each place gets a vector of its own, and
# it is **added** to the word's. The paper takes sines and cosines of many wavelengths:
#
# $$PE_{pos,\,2i} = \sin\frac{pos}{10000^{2i/d}}, \qquad
# PE_{pos,\,2i+1} = \cos\frac{pos}{10000^{2i/d}}$$

# %% [markdown]
# Think of a clock: one hand turns fast, the next slower, the next slower still. Each
# pair of columns is one hand, read as sine and cosine. Pair $i = 0$ turns by one radian
# per word; the last pair hardly moves within a page.

# %% [markdown] slide="subslide"
# **By hand.** *The good transformer (Optimus) beat the bad transformer (Megatron).* The
# first *transformer* has position 2; we count from 0. Take d = 4: pairs i = 0 and 1,
# powers $10000^{0} = 1$ and $10000^{2/4} = 100$.

# %% tags=["nbval-check-output"]
angles = torch.tensor([2 / 1, 2 / 100])
show("sines, dimensions 0 and 2", angles.sin())
show("cosines, dimensions 1 and 3", angles.cos())

# %% [markdown] exercise="1.4"
# Write the whole table for an even d_model. Test it against the four numbers above.


# %% exercise="1.4"
def positional_encoding(length: int, d_model: int) -> Tensor:
    """The table of sines and cosines that tells positions apart.

    Args:
        length: how many positions, counted from 0
        d_model: width of a row, even

    Returns:
        (length, d_model) in float32: dimensions 0, 2, 4 ... hold sines, the others
        cosines.
    """
    ### BEGIN SOLUTION
    #: position = ...  # (T, 1)
    #: angles = ...  # (T, D / 2), one column for each pair
    position = torch.arange(length)[:, None]  # (T, 1)
    even = torch.arange(0, d_model, 2)  # (D / 2,): the formula's 2i
    angles = position / 10000 ** (even / d_model)  # (T, D / 2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    ### END SOLUTION


# %%
check("1.4", positional_encoding)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# How many different angles are there for one position: d or d/2?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# (T, 1) divided by (D/2,) gives (T, D/2). `table[:, 0::2] = ...` fills every other
# column. If you count with `range(0, d_model, 2)`, what you count is already 2i.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# angles: every position divided by every power; sines into the even columns, cosines
# into the odd ones.
# </details>

# %%
show("position 2", positional_encoding(3, 4)[2])

# %% [markdown]
# Other code multiplies the position by $\exp(-2i \ln(10000) / d)$. That is the same as
# to divide it by $10000^{2i/d}$.

# %% slide="subslide"
fine = torch.arange(0, 3.5, 0.05)[:, None] / torch.tensor([1.0, 100.0])  # between words
waves = torch.stack([fine.sin(), fine.cos()], -1).flatten(1)
show_figure(
    draw.robot("I am a robot".split(), positions.positional_encoding(4, 4), waves, 20),
    "Above, four waves over positions 0 to 3, two fast, two that hardly move. Below, "
    "the values at each word of I am a robot; no two columns are equal.",
)

# %% slide="subslide"
show_figure(
    draw.encoding_map(positions.positional_encoding(64, 128)),
    "Heat map of 64 positions by 128 dimensions: at the left the values change from "
    "row to row, to the right ever more slowly; the last columns look the same in all.",
)

# %% [markdown]
# Is every position different from all others? For 5,000 positions, even in float32 and
# even with four columns, yes. And the dot product of two rows depends on their
# **distance** only:

# %% tags=["nbval-check-output"]
for d_model in (4, 512):
    table = positions.positional_encoding(5000, d_model)
    print(f"d_model {d_model:3}: {len(table.unique(dim=0))} different rows of 5000")

table = positions.positional_encoding(150, 128, torch.float64)
dots = table @ table.T
show("from position 0, distance 0, 1, 10, 40", dots[0, [0, 1, 10, 40]], 2)
show("from position 50, the same distances", dots[50, [50, 51, 60, 90]], 2)

# %% slide="subslide"
show_figure(
    draw.nearness(
        {"from position 0": dots[0, :100], "from position 50": dots[50, 50:]}
    ),
    "Dot product of two rows against their distance, from position 0 and from position "
    "50: the same curve twice, falling from 64, with small waves.",
)

# %% [markdown] slide="slide"
# ## Into the model
#
# Two pieces are left. A **module** adds the positions, so that the table moves with the
# model. And before that the word vectors are **scaled**.

# %% [markdown] exercise="1.4b"
# The table is no parameter: training must not change it. But it belongs to the module
# and has to move to the GPU with it. For that there are *buffers*: `nn.Buffer(tensor)`,
# or the older `self.register_buffer(name, tensor)`. The values come from the course's
# function.


# %% exercise="1.4b"
class PositionalEncoding(nn.Module):
    """Add to each vector the row of its position."""

    def __init__(self, d_model: int, max_length: int) -> None:
        super().__init__()
        rows = positions.positional_encoding(max_length, d_model)  # (max_length, D)
        ### BEGIN SOLUTION
        self.table = nn.Buffer(rows)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D), with T at most max_length."""
        ### BEGIN SOLUTION
        return x + self.table[: x.shape[1]]
        ### END SOLUTION


# %%
check("1.4b", PositionalEncoding)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# x is (B, T, D), the table (max_length, D). How many of its rows do you need?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# (T, D) broadcasts to (B, T, D): the batch axis needs nothing. Which axis of `x` is T?
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# init: keep the rows as a buffer; forward: x plus the first T rows.
# </details>

# %% tags=["nbval-check-output"]
place = positions.PositionalEncoding(d_model=300)
print(
    "parameters:",
    len(list(place.parameters())),
    " buffers:",
    len(list(place.buffers())),
)
before = torch.randn(1, 3, 300, generator=torch.Generator().manual_seed(0))
after = place(before)  # three words of 300 numbers, the same shape as before
print(tuple(before.shape), "->", tuple(after.shape))
show("added to the third word", (after - before)[0, 2, :4])

# %% [markdown]
# How loud is the place beside the word? A row of the encoding has length √(d/2), as
# sine² plus cosine² is 1. A word vector of standard normal numbers has about √d. The
# paper multiplies the word by √d before it adds (section 3.4). Watch what that does:

# %% tags=["nbval-check-output"]
d_model, draws = 300, torch.Generator().manual_seed(0)
place_length = positions.positional_encoding(50, d_model).norm(dim=1).mean()
for name, std in (("normal, std 1", 1.0), ("small, std 1/sqrt(d)", d_model**-0.5)):
    word = std * torch.randn(50, d_model, generator=draws)
    for factor in (1, d_model**0.5):
        share = place_length / (factor * word).norm(dim=1).mean()
        print(f"{name:21} factor {factor:5.2f}  place / word {share:.2f}")

# %% [markdown]
# With `nn.Embedding`'s default start (std 1) the factor drowns the place: 0.04. It is
# meant for tables that start small, with std 1/√d, as where the table also serves as
# the output layer: there 12.14 becomes 0.70. The factor and the start belong together.

# %% [markdown] exercise="1.4c"
# Put it together as the paper does: look up, multiply the **word vectors** by √d_model,
# add the position's row. This is what the first layer of the encoder gets in lesson 04.


# %% exercise="1.4c"
def encoder_input(table: Tensor, ids: Tensor, encoding: Tensor) -> Tensor:
    """Word vectors times the root of d_model, plus positions.

    Args:
        table: (V, D), the word vectors
        ids: (B, T)
        encoding: (max_length, D), a row for each position, max_length >= T

    Returns:
        (B, T, D)
    """
    ### BEGIN SOLUTION
    _, length = ids.shape
    loud = table[ids] * table.shape[1] ** 0.5  # (B, T, D)
    return loud + encoding[:length]
    ### END SOLUTION


# %%
check("1.4c", encoder_input)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which axis of `ids` counts the words of a sentence?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# d_model is the width of the table. Multiply before you add.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# rows of the ids; times the root of the width; plus as many rows of the encoding as
# there are words in a sentence.
# </details>

# %% [markdown] slide="slide"
# ## Break it: a table that only looks right
#
# A published notebook computes its hand example like this (in our words). Its class, a
# few cells further down, does not agree with it. Which of the two is wrong?


# %% locked=true
def suspicious_encoding(length, d_model):
    """Right or wrong?"""
    encoding = torch.zeros(length, d_model)
    for pos in range(length):
        for i in range(0, d_model, 2):
            angle = pos / 10000 ** (2 * i / d_model)
            encoding[pos, i] = math.sin(angle)
            encoding[pos, i + 1] = math.cos(angle)
    return encoding


# %% tags=["nbval-check-output"]
for make in (positions.positional_encoding, suspicious_encoding):
    table = make(40, 300)
    dots = table @ table.T
    first = table[0].view(-1, 2).unique(dim=0).tolist()
    steady = all(dots.diagonal(gap).std() < 1e-3 for gap in range(30))
    print(f"{make.__name__:20} shape {tuple(table.shape)}, row 0 repeats {first[0]}")
    print(f"    squared length {dots.diagonal().mean():.1f}, rows all different: "
          f"{len(table.unique(dim=0)) == 40}, distance only: {steady}")  # fmt: skip

# %% [markdown] exercise="1.5"
# Everything obvious holds for both. Write a **test** that separates them:
# `looks_right(make)` calls any such function with sizes of your choice and returns True
# only if its table is right. It will meet other mistakes, too, so don't test only for
# this one.


# %% exercise="1.5"
def looks_right(make) -> bool:
    """Test a function that makes tables of positions.

    Args:
        make: takes (length, d_model), should return the table (length, d_model)

    Returns:
        True if it passes, False if something is wrong with it.
    """
    ### BEGIN SOLUTION
    table = make(3, 4)
    if table.shape != (3, 4):
        return False
    by_hand = torch.tensor([math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)])
    return torch.allclose(table[2].float(), by_hand, atol=1e-4)
    ### END SOLUTION


# %%
check("1.5", looks_right)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Shape, lengths, row 0 and distances hold at *any* frequencies. What depends on them?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# You have computed four numbers by hand. Which of them would come out differently here?
# Compare with room for rounding: `torch.allclose`.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# a small table; right shape, else False; one row beyond row 0, all its numbers against
# values that you know.
# </details>

# %%
print("suspicious_encoding looks right:", looks_right(suspicious_encoding))

# %% [markdown]
# `i` runs 0, 2, 4: it already *is* the 2i of the formula, so the exponent is doubled.
# The hands slow down too fast, and 131 of 300 columns stand still over 512 words, not
# 7.

# %% tags=["nbval-check-output"]
right, wrong = positions.positional_encoding(512, 300), suspicious_encoding(512, 300)
show("position 2, right", right[2, :6])
show("position 2, wrong", wrong[2, :6])
print("columns apart at position 2:", ((right - wrong)[2].abs() > 1e-3).sum().item())
print(
    "columns that stand still:",
    *((t.std(0) < 1e-3).sum().item() for t in (right, wrong)),
)

# %% [markdown] slide="slide"
# ## More: a step is a rotation
#
# You saw that the dot product of two rows depends on their distance only. There is a
# reason: moving by k positions turns every hand of the clock by a fixed angle.

# %% [markdown] exercise="1.6"
# So there is **one matrix** for each k with $M_k\,PE_{pos} = PE_{pos+k}$, wherever you
# start. (The paper hoped that this makes it easy to learn "k words further".) Build it.


# %% exercise="1.6"
def shift_matrix(k: int, d_model: int) -> Tensor:
    """The matrix that turns the encoding of pos into that of pos + k, for every pos.

    Args:
        k: how far, in positions; may be negative
        d_model: even

    Returns:
        (D, D) in float32, to be multiplied from the left with a row of the table.
    """
    ### BEGIN SOLUTION
    matrix = torch.zeros(d_model, d_model)
    for even in range(0, d_model, 2):
        turn = torch.tensor(k / 10000 ** (even / d_model))
        matrix[even, even], matrix[even, even + 1] = turn.cos(), turn.sin()
        matrix[even + 1, even], matrix[even + 1, even + 1] = -turn.sin(), turn.cos()
    return matrix
    ### END SOLUTION


# %%
check("1.6", shift_matrix)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# sin(a + b) = sin a cos b + cos a sin b. Which two numbers of a row are sin a and cos
# a?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The matrix is zero except for 2 × 2 blocks along its diagonal, one for each pair.
# cos(a + b) = cos a cos b − sin a sin b gives the second row of a block.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# for each pair: angle of k steps; its block: (cosine, sine) above (minus sine, cosine).
# </details>

# %%
table = positions.positional_encoding(30, 6)
moved = table[:20] @ shift_matrix(7, 6).T  # rows, so the matrix comes transposed
show("largest difference from 7 positions later", (moved - table[7:27]).abs().max())

# %% [markdown] exercise="1.7" slide="slide"
# *Dog bites man* and *man bites dog*. The cell below asks a real encoder of six layers
# for both sentences and takes the mean over the tokens; once as it was trained, and
# once with its table of positions set to zero. **Explain** what you see, in five or six
# sentences: why can't six layers of attention find out who bites?

# %% tags=["nbval-check-output"]
encoder = load_encoder()
both = tokenizer(["dog bites man", "man bites dog"], return_tensors="pt")


def apart() -> Tensor:
    """1 - cosine of the two sentences."""
    with torch.no_grad():
        first, second = encoder(**both).last_hidden_state.mean(1)  # (D,) each
    return 1 - F.cosine_similarity(first, second, dim=0)


with_positions = apart()
encoder.embeddings.position_embeddings.weight.data.zero_()
without = apart()
show("1 - cosine, with positions", with_positions, 2)
show("1 - cosine, without", without)
assert with_positions > 0.02 and without.abs() < 1e-5

# %% [markdown] answer="1.7"
# ### BEGIN SOLUTION
# **Model answer.** Without positions, the input of a token is its word's row, so both
# sentences hand the same five vectors to the first layer, only in another order.
# Attention compares every vector with every other and sums up with weights; a sum does
# not know in which order its terms came. So if the inputs change places, the outputs
# change places in the same way and stay the same otherwise (the layer is *permutation
# equivariant*). The feed-forward part and the layer norm work on each token by itself,
# so they don't help, and no number of such layers does. In the mean over the tokens
# even the places are gone: both sentences have the same vector, up to rounding. Adding
# a vector that depends on the place makes "dog at 1" and "dog at 3" different inputs,
# and then the layers can tell.
#
# **Rubric (3 points).** 1: same set of input vectors, only permuted. 1: attention (and
# the other layers) treat them alike wherever they stand, so outputs are permuted only,
# at any depth. 1: says what the mean does and how positions repair it.
# ### END SOLUTION

# %% [markdown]
# This encoder does not use sines: its 512 rows of positions were learned like words, as
# in BERT. The paper tried both and found nearly the same quality (section 3.5). The
# sines need no training and can be computed for any length.

# %% [markdown] slide="slide"
# ## What you can now do
#
# - Turn tokens into vectors and read every axis of the result.
# - Compare words by cosine, and doubt an analogy: which words were excluded?
# - Tell a trained table from a fresh one by its neighbours.
# - Write positions from the formula, and test them by a number that you know.
#
# Next, lesson 02: how a word takes from the other words just what it needs.

# %% [markdown] slide="skip"
# What you have passed so far, here and in the other lessons:

# %% slide="skip"
from helpers.student.overview import progress

progress()

# %% [markdown] slide="skip"
# **References.** Vaswani et al. 2017, *Attention Is All You Need* (arXiv 1706.03762),
# sections 3.4 and 3.5. Mikolov et al. 2013, *Efficient Estimation of Word
# Representations* (arXiv 1301.3781) and *Linguistic Regularities* (NAACL 2013), for the
# analogies; Linzen 2016 (arXiv 1606.07736), for what the exclusion of words does to
# them. Reimers and Gurevych 2019, *Sentence-BERT* (arXiv 1908.10084), and Wang et al.
# 2020, *MiniLM* (arXiv 2002.10957), for the table. spaCy's documentation on vectors and
# similarity.
