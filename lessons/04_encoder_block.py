# %% [markdown] slide="slide"
# # 04 The encoder: your own parts become BERT
#
# **What does attention need around it to become a model? And can the model that you
# build be the real BERT?**
#
# You need: lessons 01 to 03. Time: {minutes}. Everything runs on your laptop's CPU,
# without a network.

# %% [markdown] slide="notes"
# **1 minute.** Say: you have attention, with several heads. Today it gets everything
# else, and at the end your own code is a model that others have published.
#
# Ask: what is in a Transformer besides attention?
#
# Expect: "layers", "embeddings". Hardly anybody says that something is added up.

# %% [markdown] slide="slide"
# ## Ask in your own words
#
# A file holds 320 everyday sentences. You are looking for one of them but have
# forgotten its words, so you type *suffering from insomnia*. Neither *suffering* nor
# *insomnia* is in any of them.

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: neither *insomnia* nor *suffering* is in the
# file. What will come back?
#
# Expect: "nothing", from those who think of Ctrl+F; "something about beds".
#
# Say: nobody wrote a list of synonyms. A model has read each sentence and made one
# vector of it, and this model is what you will have built by the end.

# %% [markdown] slide="skip"
# What do you expect from a model? Guess what kind of sentence comes first, then run the
# next two cells.

# %%
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import show
from helpers.checks import check
from helpers.corpora.sentences import load_queries, load_sentences
from helpers.experiments import deep_stack
from helpers.experiments.first_look import search
from helpers.experiments.stream import translator_stream
from helpers.figures import encoder as draw
from helpers.figures import show_figure
from helpers.models import encoder as reference
from helpers.models import layers as parts
from helpers.models.multi_head import MultiHeadAttention
from helpers.models.positions import PositionalEncoding, positional_encoding
from helpers.pretrained import load_encoder, load_tokenizer
from helpers.student.own_parts import OwnParts
from helpers.text.sentence_search import nearest, sentence_vectors

_ = torch.manual_seed(4)

# %% tags=["nbval-check-output"] slide="fragment"
for sentence, cosine in search("suffering from insomnia", 2):
    print(f"{cosine:.2f}  {sentence}")
everything = " ".join(load_sentences()).lower()
assert len(load_sentences()) == 320
assert "insomnia" not in everything and "suffer" not in everything

# %% [markdown] slide="skip"
# It found the man for whom *sleep would not come*. The model behind it is an
# **encoder**: it reads a text and gives back one vector for each token, which depends
# on the other words as well. This one is a small **BERT**. In this lesson you write
# such an encoder around your own attention, load the real weights into *your* classes,
# and at the end this search runs on your own code.

# %% [markdown] slide="skip"
# At the end of this lesson you can
#
# - take a word's vector apart into what each sub-layer has written to it;
# - write feed-forward, layer norm, encoder layer and encoder;
# - load published weights into your own code, and prove that it agrees;
# - search by meaning.

# %% [markdown] slide="notes"
# Leave 4.A, 4.B, 4.C, 4.E, 4.F, 4.G, 4.J and everything below Going further for the
# lab. Usual trouble: which x the residual carries in pre-norm, and a list of layers
# in place of an `nn.ModuleList`.

# %% [markdown] slide="slide"
# ## Why not just stack attention?
#
# Multi-head attention takes (B, T, D) and returns (B, T, D), so nothing keeps you from
# stacking twelve of them. Six different vectors go in. Will they still differ when they
# come out?

# %% [markdown] slide="notes"
# **2 minutes.** Ask: after twelve attentions, how alike are the six vectors, as a mean
# cosine between 0 and 1?
#
# Expect: guesses all over the place, most of them below one half.
#
# Say: it is 1.00 after two. A weighted mean lies between what it is made of, and a
# mean of means is flatter still. The second line differs by a single plus sign.

# %% [markdown] slide="skip"
# The cell below measures how alike the six are, by the mean cosine of two of them: 0 on
# average for vectors that have nothing to do with each other, and 1 where all point the
# same way. It does so for the twelve attentions, and again with a plus sign, where each
# attention's output is *added* to its input. The last column is the gradient that
# arrives back at the input. Guess the cosine after twelve attentions, then run it.

# %% tags=["nbval-check-output"] slide="fragment"
torch.manual_seed(0)
six_tokens = torch.randn(1, 6, 32)  # (B, T, D)
attentions = nn.ModuleList(MultiHeadAttention(32, 4, bias=False) for _ in range(12))
layers = nn.ModuleList(reference.EncoderLayer(32, 4, 128, 0.0) for _ in range(12))

curves = {}
for name, added in (("attention alone", False), ("x + attention(x)", True)):
    curves[name], slope = deep_stack.collapse(attentions, six_tokens, added)
    alike = " ".join(f"{curves[name][n]:5.2f}" for n in (0, 1, 2, 12))
    print(f"{name:17} cosine after 0, 1, 2, 12: {alike}   gradient {slope:.2g}")

curves["whole layers"] = deep_stack.likeness_by_depth(layers, six_tokens)
show_figure(
    draw.likeness(curves),
    "Mean cosine of two tokens against the number of layers. With attention alone it "
    "jumps to 1 within two layers. With a plus sign, and in whole encoder layers, it "
    "climbs slowly and stays below one half.",
)
assert curves["attention alone"][2] > 0.99
assert curves["x + attention(x)"][12] < 0.3 and curves["whole layers"][12] < 0.5

# %% [markdown] slide="skip"
# After two attentions all six vectors point the same way, and there is nothing left to
# attend to. What comes out of an attention is a weighted mean, and as long as the
# weights are spread out, as they are before training, a mean of means is flatter still
# (Dong et al. 2021 say how fast). Hardly anything of the gradient reaches the input
# either, for another reason: fresh layers make what goes through them smaller, twelve
# times over. With the plus sign, what each attention writes is little beside what is
# there, so the six stay apart, and the gradient arrives. The curve of whole layers
# climbs as well, but slowly.

# %% [markdown] slide="slide"
# ## The residual stream
#
# $$x \leftarrow x + \mathrm{sublayer}(x)$$
#
# A **residual connection** (He et al. 2016) carries x past each **sub-layer** and adds
# what the sub-layer found. Nothing is replaced: a word's vector is the sum of all that
# was ever written to it.

# %% [markdown] slide="notes"
# **2 minutes.** Say: think of a sheet of paper that goes from desk to desk. Each desk
# reads all of it and adds a line; nobody rubs anything out.
#
# Ask: what is the derivative of x + f(x) with respect to x, and what does the 1 do for
# the first layer?
#
# Expect: "1 plus f prime". The 1 brings the gradient past every sub-layer.

# %% [markdown] slide="skip"
# The line of sums is called the **residual stream**, and it helps to see every
# Transformer that way. A sub-layer, which is an attention or the feed-forward network
# below, reads the stream and writes into it by adding. So the word's own vector is
# never lost, later sub-layers can read what earlier ones have written, and since the
# derivative of x + f(x) is 1 plus that of f, the gradient has a way past all of them.

# %% [markdown] exercise="4.A"
# A sum can be taken apart again. Send x through the sub-layers, each of which reads the
# whole stream and adds its result, and keep every part: x first, then what each one
# wrote. The parts have to add up to the stream at the end.


# %% exercise="4.A"
def written(x: Tensor, sublayers) -> Tensor:
    """Take the residual stream apart.

    Args:
        x: (B, T, D), the stream at the start
        sublayers: functions (B, T, D) -> (B, T, D), in the order in which they write

    Returns:
        (1 + number of sublayers, B, T, D): x, then what each sub-layer wrote
    """
    parts = [x]
    ### BEGIN SOLUTION
    for sublayer in sublayers:
        parts.append(sublayer(sum(parts)))
    return torch.stack(parts)
    ### END SOLUTION


# %%
check("4.A", written)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# When the third sub-layer has its turn, which three tensors are in the stream?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `sum` adds up a list of tensors. `torch.stack` puts tensors of one shape behind each
# other, along a new first axis.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# for each sub-layer: add up the parts so far, give the sum to the sub-layer, append
# what comes back; at the end stack the parts.
# </details>

# %% [markdown] slide="subslide"
# Now open a real stream. The translator of lesson 00 writes *es* for *it* where the
# animal was too tired, and *sie* where the street was too wide. Its encoder has two
# layers, so the final vector of *it* is a sum of five parts. Which of the five can
# differ between the two sentences?

# %% [markdown] slide="notes"
# **3 minutes.** Ask, before you press: five parts, two sentences, one word changed.
# Which parts of *it* can differ?
#
# Expect: "all of them". The first can't: the same word in the same place.
#
# Say: what sets the two apart was written into *it* by the attentions, 0.21 and 0.28
# long, and carried on. Beside a stream of length 15 that is little.

# %% [markdown] slide="skip"
# The cell uses *your* function. `mine` collects your answers: each that passes its
# check is used from here on, and where one has not passed, the course's stands in, as
# the line says.

# %% locked=true slide="skip"
mine = OwnParts()
mine.take("4.A", written)

# %% slide="fragment"
TIRED = "The animal did not cross the street because it was too tired."
found, other = [], "wide"
for sentence in (TIRED, TIRED.replace("tired", other)):
    stream = translator_stream(sentence)
    taken = mine.written(stream.x, stream.sublayers)  # (parts, B=1, T, D)
    found.append(taken[:, 0, stream.tokens.index("it")])  # (parts, D)
    off = (stream.norm(taken.sum(0)) - stream.output).abs().max()
    print(f"{sentence}  adds up to 1e-5: {bool(off < 1e-5)}")

lengths, apart = found[0].norm(dim=-1), (found[0] - found[1]).norm(dim=-1)
show_figure(
    draw.shares(
        stream.names,
        {
            "length of each part of “it”, tired": lengths.tolist(),
            f"difference from the same part, {other}": apart.tolist(),
        },
    ),
    "Two charts with a bar for each of the five parts. Lengths: embedding and position "
    "13.16, attention 1.51, feed-forward 2.33, attention 4.61, feed-forward 0.91. "
    "Differences between the sentences: 0, 0.21, 0.02, 0.28 and 0.",
)
assert (lengths - torch.tensor([13.16, 1.51, 2.33, 4.61, 0.91])).abs().max() < 6e-3
assert other != "wide" or (
    (apart - torch.tensor([0, 0.21, 0.02, 0.28, 0])).abs().max() < 6e-3
)
assert (found[0].sum(0).norm() - 15.14).abs() < 6e-3

# %% [markdown] slide="skip"
# The embedding can't differ, since the word and its place are the same. All others can,
# because each sub-layer reads a stream in which the other words have left something.
# Nearly everything that sets the two *it* apart was written by the two attentions,
# which brought it from the other words; the last sub-layer wrote the same to both. But
# put *hungry* for *wide* and run both cells again: the two differ more, and *it* means
# the animal in both. So a difference is not yet a decision, and lesson 06 finds out who
# decides. Before the decoder sees the sum, this encoder normalises it; what that means
# comes soon.

# %% [markdown] slide="slide"
# ## The feed-forward network
#
# $$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2$$
#
# Attention moves information between tokens. The second sub-layer of a layer works on
# each token alone, with **the same weights at every position**: it makes the vector
# wider, applies a function that is not linear, and makes it narrow again.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: leave out the max(0, ...). What do the two layers become?
#
# Expect: "still two layers". Multiply it out on the board: one matrix, one bias.
#
# Say: that is why there is an activation function between them. Attention moves
# information between tokens, the feed-forward works on each alone, and 4.B in the lab
# writes it.

# %% [markdown] exercise="4.B"
# Write it as a module. Without the function in the middle, the **activation function**,
# two layers would be no more than one. The paper's is **ReLU**, max(0, x); BERT has
# **GELU**, a smooth relative of it. Take the one that was asked for from `ACTIVATIONS`.

# %% locked=true tags=["nbval-check-output"]
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}
show("x   ", torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0]), digits=3)
for name, function in ACTIVATIONS.items():
    show(name, function(torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0])), digits=3)


# %% exercise="4.B"
class FeedForward(nn.Module):
    """Two layers with an activation function between them, for each position alone.

    Args:
        d_model: width of the vectors that come in and go out
        d_ff: width in between
        activation: "relu" or "gelu"
    """

    def __init__(self, d_model: int, d_ff: int, activation: str = "relu") -> None:
        super().__init__()
        self.activation = activation
        self.W_1 = nn.Linear(d_model, d_ff)
        self.W_2 = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        ### BEGIN SOLUTION
        #: hidden = ...  # (..., d_ff)
        hidden = ACTIVATIONS[self.activation](self.W_1(x))  # (..., d_ff)
        return self.W_2(hidden)
        ### END SOLUTION


# %%
check("4.B", FeedForward)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# How wide is what comes in, how wide is the middle, how wide is what goes out?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `nn.Linear(in_features, out_features)` has a bias unless you forbid it. A dictionary
# gives you the function that belongs to a name, and you can call it at once.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# first layer, from D to F; the activation; second layer, from F back to D.
# </details>

# %% [markdown] slide="slide"
# ## Layer norm
#
# $$\mathrm{LN}(x) = \gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta,
# \qquad \sigma^2 = \frac{1}{D}\sum_i (x_i - \mu)^2$$
#
# A stream that is only ever added to may grow without end. **Layer norm** brings each
# vector to mean 0 and variance 1 **by itself**; a learned gain γ and bias β may undo
# that where it is useful (Ba et al. 2016).

# %% [markdown] slide="notes"
# **3 minutes.** Ask: [2, −1, 3, 0], with a pencil. Mean, variance, result?
#
# Expect: the mean, 1, is quick. For the variance some divide by 3; the formula divides
# by D, which is 4, and gets 2.5.
#
# Say: in the picture every row is a word, and every row is treated alone, whatever
# stands beside it.

# %% [markdown] slide="skip"
# Do it by hand for [2, −1, 3, 0] first; a pencil is enough until the root.

# %% tags=["nbval-check-output"]
x = torch.tensor([2.0, -1.0, 3.0, 0.0])
mean, variance = x.mean(), ((x - x.mean()) ** 2).mean()
show("mean", mean)
show("variance", variance)
show("normalised", (x - mean) / variance.sqrt())
show("F.layer_norm", F.layer_norm(x, (4,)))

# %% slide="subslide"
draws = torch.Generator().manual_seed(1)
scale, shift = torch.tensor([[[0.5], [3.0], [1.0]], [[2.0], [-1.0], [0.0]]])
vectors = scale * torch.randn(3, 8, generator=draws) + shift  # (T=3, D=8)
show_figure(
    draw.before_and_after(
        vectors, F.layer_norm(vectors, (8,)), ["animal", "street", "it"]
    ),
    "Three words with eight features each as a coloured table, before and after layer "
    "norm. Before, the rows have different means and spreads; after, mean 0 and std 1.",
)

# %% [markdown] slide="notes"
# **1 minute.** Ask: which row changes most, and what do all rows share afterwards?
#
# Expect: *street*, the widest; mean 0 and standard deviation 1 in each.
#
# Say: the pattern within a row stays. 4.C in the lab writes it, with ε under the root
# so that a row of equal numbers does not become 0 / 0.

# %% [markdown] exercise="4.C"
# Write it as a module. Gain and bias are called `weight` and `bias`, as torch calls
# them, so that weights of real models will fit. ε keeps a row of equal numbers from
# becoming 0 / 0.


# %% exercise="4.C"
class LayerNorm(nn.Module):
    """Bring each vector to mean 0 and variance 1, then to a learned gain and bias.

    Args:
        d_model: width of the vectors
        eps: added to the variance, under the root
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D), also for rows far from 0.

        Write the formula out. (The check looks at numbers alone, and torch's own layer
        norm would pass.)
        """
        ### BEGIN SOLUTION
        #: mean = ...  # (..., 1)
        #: variance = ...  # (..., 1)
        mean = x.mean(-1, keepdim=True)  # (..., 1)
        variance = (x - mean).square().mean(-1, keepdim=True)  # (..., 1)
        return self.weight * (x - mean) / (variance + self.eps).sqrt() + self.bias
        ### END SOLUTION


# %%
check("4.C", LayerNorm)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# A batch of 2 sentences of 5 words: how many means are there? Which axis is averaged?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `keepdim=True` keeps an axis of size 1, so that the subtraction lines up. Compare
# `x.var()` with the formula: by how many numbers does it divide?
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# mean of each row; mean of the squared distances from it; subtract, divide by the root
# of (variance plus eps); times gain; plus bias.
# </details>

# %% [markdown] slide="slide"
# ## The encoder layer
#
# $$x \leftarrow \mathrm{LN}(x + \mathrm{drop}(\mathrm{sublayer}(x)))$$
#
# A layer does this twice: with attention, then with the feed-forward network.

# %%
show_figure(
    draw.layer(),
    "A thick line, the stream of shape (B, T, D), runs from left to right. Multi-head "
    "attention, which also gets a mask (B, 1, 1, S), reads it; its output goes through "
    "dropout and is added to the stream, and norm 1 follows. The feed-forward network, "
    "(B, T, F) inside, does the same, followed by norm 2.",
)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: put a finger on the thick line. Which boxes can change it, and
# which of them let one token know of another?
#
# Expect: attention for the second; the two norms on the line are forgotten.
#
# Say: dropout touches what is added and never x itself, and the mask goes into the
# attention only.

# %% [markdown] slide="skip"
# The thick line is the stream. While the model is trained, **dropout** zeroes a random
# share of what a sub-layer writes and enlarges the rest to make up for it, so that no
# part can rely on a single other one; in `eval` mode it does nothing. Here the norm
# comes after each sum and rescales all that has been written so far, as in the paper
# and in BERT: this is **post-norm**. The translator above, GPT-2 and most models since
# are **pre-norm**, x ← x + drop(sublayer(LN(x))), so that nothing but sums stands on
# the line. Your layer can do both; *Going further* compares them.

# %% [markdown] exercise="4.D"
# Put the layer together. The parts come from `mine`, so `mine.MultiHeadAttention` is
# your 3.C with your 2.B inside, where they have passed. As a part of a layer it is
# called with query, key, value and mask, and returns **one tensor**, its output; the
# weights that your 3.C returns as well are left out. With `norm_first` the layer is
# pre-norm.

# %% locked=true slide="skip"
mine.take("3.C")
mine.take("4.B", FeedForward)
mine.take("4.C", LayerNorm)


# %% [markdown] slide="notes"
# **8 minutes.** Say: you dictate, I type; post-norm first.
#
# Ask: in pre-norm, which x stands on the left of the plus, the one before the norm or
# the one after it?
#
# Expect: the one after it, from half of them. Type it, let the check talk, and look at
# the line in the picture again. Then: which arguments have not arrived anywhere yet?


# %% exercise="4.D"
class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with a residual and a norm.

    norm1 belongs to the attention, norm2 to the feed-forward network.
    """

    def __init__(
        self, d_model, num_heads, d_ff, dropout=0.1,
        activation="relu", norm_first=False, eps=1e-5,
    ):  # fmt: skip
        super().__init__()
        self.norm_first = norm_first
        self.attention = mine.MultiHeadAttention(d_model, num_heads)
        self.feed_forward = mine.FeedForward(d_model, d_ff, activation)
        self.norm1 = mine.LayerNorm(d_model, eps)
        self.norm2 = mine.LayerNorm(d_model, eps)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(B, T, D) -> (B, T, D); the mask broadcasts to (B, H, T, S)."""
        ### BEGIN SOLUTION
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.dropout(self.attention(y, y, y, mask))
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        x = self.norm1(x + self.dropout(self.attention(x, x, x, mask)))
        return self.norm2(x + self.dropout(self.feed_forward(x)))
        ### END SOLUTION


# %%
check("4.D", EncoderLayer)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# In pre-norm, which x is on the left of the plus: the one before or after the norm?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Write the post-norm half first: the formula, twice. Then the other order. In
# self-attention query, key and value are the same tensor.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# post-norm: x becomes norm1 of (x plus dropped attention of x); the same with norm2 and
# the feed-forward. pre-norm: y is norm1 of x; x becomes x plus dropped attention of y;
# the same with norm2 and the feed-forward.
# </details>

# %% [markdown] slide="slide"
# ## The encoder
#
# Ids become vectors, the positions of lesson 01 are added, and then layer follows
# layer, each with weights of its own. What goes in is (B, T); what comes out is a
# contextual vector for each token.

# %%
show_figure(
    draw.encoder(),
    "From left to right: ids (B, T); the embedding times root D gives (B, T, D); sine "
    "waves of the position (T, D) are added; dropout; then layer 1, layer 2 and so on "
    "to layer N on one thick line, all with the same mask (B, 1, 1, S); out comes "
    "(B, T, D).",
)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: which of these boxes know how long the sentence is, and which know
# the order of its words?
#
# Expect: "all". Only the positions know the order, and the mask the length.
#
# Say: each layer has weights of its own; the mask is the same for all. 4.E writes this
# picture from left to right.

# %% [markdown] exercise="4.E"
# Write the rest: the list of layers, all with the same sizes and with `*options`, and
# `forward`, along the picture. The embedding is multiplied by √d_model, as in the
# paper; *Going further* asks why. Every layer gets the mask. `self.norm` is there for
# pre-norm stacks, which end in a bare sum, and does nothing otherwise.

# %% locked=true
mine.take("4.D", EncoderLayer)


# %% exercise="4.E"
class Encoder(nn.Module):
    """Token ids in, one vector in context per token out."""

    def __init__(
        self, vocab_size, d_model, num_heads, d_ff, num_layers, max_length=512,
        dropout=0.1, activation="relu", norm_first=False, eps=1e-5,
    ):  # fmt: skip
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.positions = PositionalEncoding(d_model, max_length)
        self.dropout = nn.Dropout(dropout)
        self.norm = mine.LayerNorm(d_model, eps) if norm_first else nn.Identity()
        options = (dropout, activation, norm_first, eps)
        ### BEGIN SOLUTION
        self.layers = nn.ModuleList(
            mine.EncoderLayer(d_model, num_heads, d_ff, *options)
            for _ in range(num_layers)
        )
        ### END SOLUTION

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """(B, T) -> (B, T, D); the mask broadcasts to (B, H, T, S)."""
        ### BEGIN SOLUTION
        #: x = ...  # (B, T, D)
        x = self.embedding(ids) * self.d_model**0.5  # (B, T, D)
        x = self.dropout(self.positions(x))
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)
        ### END SOLUTION


# %%
check("4.E", Encoder)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# How many different layers must exist, and what does each of them read?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Modules in a plain list are invisible to `parameters()`: use `nn.ModuleList`.
# `self.positions` is a module that adds the positions to what it gets.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# look up the ids, scale, add positions, drop; let each layer in turn read what the one
# before it put out, with the mask; the last norm.
# </details>

# %% slide="skip"
small = Encoder(10_000, d_model=300, num_heads=6, d_ff=64, num_layers=2)
sentences = torch.randint(10_000, (64, 30))  # (B, T)
print(tuple(sentences.shape), "->", tuple(small(sentences).shape))

# %% [markdown] slide="slide"
# ## Is that BERT?
#
# Here is a real one, the model of the search: all-MiniLM-L6-v2, a BERT of six layers.
# Its layers are yours, post-norm with the same two sub-layers. What else do you find in
# its list of weights?

# %% [markdown] slide="notes"
# **2 minutes.** Ask: read the list of names. Which of them has no place in your
# encoder?
#
# Expect: position and token type embeddings, and a LayerNorm before the first layer.
#
# Say: all the rest has another name and the same shape. Find your W_1 in it, by the
# numbers alone: 1536 is four times 384.

# %% tags=["nbval-check-output"]
bert, tokenizer = load_encoder(), load_tokenizer()
for part in (bert.embeddings, bert.encoder.layer[0]):
    for name, value in part.named_parameters():
        if name.endswith("weight"):
            print(f"{name:38}{tuple(value.shape)}")
settings = ("hidden_act", "layer_norm_eps", "num_attention_heads", "num_hidden_layers")
print({name: getattr(bert.config, name) for name in settings})

# %% slide="subslide"
show_figure(
    draw.encoder(bert=True),
    "The diagram of the encoder with another front, in another colour: a learned row "
    "of the position and a row of the token type are added to the embedding, and a "
    "norm follows the sum before layer 1.",
)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: compare with the diagram before. What has BERT instead, and what
# has it in addition?
#
# Expect: learned positions instead of waves; token types and the norm come in addition.
#
# Say: GELU and ε you can pass already, and the factor √d_model cancels against a table
# that is divided by it. So what is left to write is the front.

# %% [markdown] slide="skip"
# Two differences are options of your encoder: BERT has GELU, and its ε is 1e-12. The
# factor √d_model, which BERT lacks, cancels if we divide the table by it. What is left
# is the front: learned rows for the positions instead of sine waves, a **token type**
# that says whether a token belongs to the first or the second of two sentences, and a
# norm of the sum.

# %% [markdown] exercise="4.F"
# Write the module that takes the place of `encoder.positions`. It gets the words'
# vectors x and returns **layer norm of (x + row of the position + row of token type
# 0)**; we read one sentence at a time.


# %% exercise="4.F"
class BertPositions(nn.Module):
    """What BERT adds to a word's vector, and the norm that follows.

    Args:
        d_model: width of the vectors
        max_length: how many positions have a row
        eps: of the norm
    """

    def __init__(self, d_model: int, max_length: int, eps: float = 1e-12) -> None:
        super().__init__()
        self.position = nn.Embedding(max_length, d_model)
        self.token_type = nn.Embedding(2, d_model)
        self.norm = mine.LayerNorm(d_model, eps)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        ### BEGIN SOLUTION
        positions = self.position.weight[: x.shape[1]]  # (T, D)
        return self.norm(x + positions + self.token_type.weight[0])
        ### END SOLUTION


# %%
check("4.F", BertPositions)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# x has T tokens. Which rows of the table belong to them?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# An `nn.Embedding` is a table: its rows are in `.weight`, and slicing takes the first
# T.
# </details>

# %% [markdown] exercise="4.G"
# Now the weights. The names differ but the shapes fit: find the counterpart in BERT of
# each part of your encoder. *Copy* the numbers, for which you have `copy_part`;
# training yours must not change BERT. The front and the attentions are done below.


# %% locked=true
def copy_part(ours: nn.Module, theirs: nn.Module) -> None:
    """Copy the numbers of one module into another of the same shape."""
    ours.load_state_dict(theirs.state_dict())


def copy_front_and_attention(encoder: nn.Module, bert: nn.Module) -> None:
    """Copy what stands before the layers, but for the words, and all attentions."""
    copy_part(encoder.positions.position, bert.embeddings.position_embeddings)
    copy_part(encoder.positions.token_type, bert.embeddings.token_type_embeddings)
    copy_part(encoder.positions.norm, bert.embeddings.LayerNorm)
    for number, layer in enumerate(encoder.layers):
        theirs = bert.encoder.layer[number].attention
        heads, last = theirs.self, theirs.output.dense
        layer.attention.copy_layers(heads.query, heads.key, heads.value, last)


# %% exercise="4.G"
@torch.no_grad()
def load_bert(encoder: nn.Module, bert: nn.Module) -> nn.Module:
    """Copy BERT's weights into an encoder like yours, without sharing any.

    Args:
        encoder: has embedding, positions (a BertPositions) and layers
        bert: a BertModel of `transformers`, with as many layers and the same sizes

    Returns:
        The same encoder.
    """
    copy_front_and_attention(encoder, bert)
    words = bert.embeddings.word_embeddings.weight  # (V, D); yours is multiplied by √D
    ### BEGIN SOLUTION
    encoder.embedding.weight.copy_(words / words.shape[1] ** 0.5)
    for ours, theirs in zip(encoder.layers, bert.encoder.layer, strict=True):
        copy_part(ours.norm1, theirs.attention.output.LayerNorm)
        copy_part(ours.feed_forward.W_1, theirs.intermediate.dense)
        copy_part(ours.feed_forward.W_2, theirs.output.dense)
        copy_part(ours.norm2, theirs.output.LayerNorm)
    return encoder
    ### END SOLUTION


# %%
check("4.G", load_bert)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Print `bert.encoder.layer[0]`. Which of its `Linear` layers changes the width, and to
# what? That tells the feed-forward's two apart.
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Each `LayerNorm` of BERT stands beside the `dense` that comes before it. `zip` walks
# along both lists of layers. `copy_` fills a tensor in place.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# fill the words' table; for each pair of layers: the norm after the attention, the two
# of the feed-forward, the norm after it; return the encoder.
# </details>

# %% [markdown] exercise="4.H" slide="slide"
# Put it together: **your** encoder with the sizes and options of `bert.config`,
# **your** positions in place of its own, the weights by **your** function, ready to be
# used. The check compares it with the library on real sentences of different lengths.

# %% [markdown] slide="notes"
# **4 minutes.** Say: here everything comes together; write it live, with the config
# printed beside it.
#
# Ask: which two options does BERT need that your encoder would not choose by itself,
# and what happens without `.eval()`?
#
# Expect: GELU is found, ε is forgotten. Without `eval` every run differs, by dropout.

# %% locked=true
mine.take("4.E", Encoder)
mine.take("4.F", BertPositions)
mine.take("4.G", load_bert)


# %% exercise="4.H"
def my_bert(bert: nn.Module) -> nn.Module:
    """Build an encoder of your own that computes what a BertModel computes.

    Args:
        bert: a BertModel of `transformers`; its sizes are in bert.config

    Returns:
        Your encoder in eval mode, with nothing of the library's in it.
    """
    sizes = bert.config  # vocab_size, hidden_size, intermediate_size, ...
    ### BEGIN SOLUTION
    #: encoder = ...  # mine.Encoder; then change its positions
    encoder = mine.Encoder(
        sizes.vocab_size,
        sizes.hidden_size,
        sizes.num_attention_heads,
        sizes.intermediate_size,
        sizes.num_hidden_layers,
        activation=sizes.hidden_act,
        eps=sizes.layer_norm_eps,
    )
    encoder.positions = mine.BertPositions(
        sizes.hidden_size, sizes.max_position_embeddings, sizes.layer_norm_eps
    )
    return mine.load_bert(encoder, bert).eval()
    ### END SOLUTION


# %%
check("4.H", my_bert)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which two of the differences are options of your encoder, and what are they called in
# `bert.config`? (`print(bert.config)` shows them all.)
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# A module's part is replaced by an assignment: `model.part = other_module`. Dropout
# stays on until somebody calls `.eval()`.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# Encoder with seven of the configuration's values; replace its positions; load; eval;
# return.
# </details>

# %% [markdown] slide="subslide"
# Here is our sentence, read by the library's code and by yours. What do you expect of
# the largest difference: 0, a rounding error, or something you can see?

# %% [markdown] slide="notes"
# **1 minute.** Ask: the same weights in two programs. How large is the largest
# difference?
#
# Expect: "exactly 0".
#
# Say: some millionths, on numbers around 1. Floats are added in another order. In
# float64 it is below 1e-9, further on in the notebook.

# %% slide="fragment"
mine.take("4.H", my_bert)
my_encoder = mine.my_bert(bert)
batch = tokenizer([TIRED, "No."], padding=True, return_tensors="pt")
ids, real = batch["input_ids"], batch["attention_mask"].bool()  # (B, T) each
with torch.no_grad():
    library = bert(**batch).last_hidden_state  # (B, T, D)
    hidden = my_encoder(ids, real[:, None, None])  # the mask is (B, 1, 1, S)
it = tokenizer.tokenize(TIRED).index("it") + 1  # after [CLS]
show("“it”, the library", library[0, it, :5])
show("“it”, yours      ", hidden[0, it, :5])
off = (hidden - library)[real].abs().max()  # what stands at padding is not compared
print(f"largest difference below 5e-5: {bool(off < 5e-5)}")
print(mine)

# %% [markdown] slide="skip"
# They differ by rounding, and the last line says whose parts computed it.

# %% [markdown] slide="slide"
# ## Search by meaning, with your own model
#
# This BERT was trained so that the **mean of a sentence's token vectors** says what the
# sentence is about (Reimers and Gurevych 2019). So one mean is all that the search
# still lacks.

# %% [markdown] slide="notes"
# **1 minute.** Ask: sentences in a batch are padded to one length. What goes wrong if
# you simply average over that axis?
#
# Expect: "short ones get too small". They get the vectors at the padding as well.
#
# Say: add up the real ones and divide by how many they are: 4.J, in the lab.

# %% [markdown] exercise="4.J"
# Make one vector per sentence: the mean over its **real** tokens. Padding must not
# count, and shorter sentences have fewer tokens to divide by. (There is no 4.I.)


# %% exercise="4.J"
def mean_pool(hidden: Tensor, real: Tensor) -> Tensor:
    """Average each sentence's real tokens.

    Args:
        hidden: (B, T, D)
        real: (B, T), boolean, True = a real token

    Returns:
        (B, D)
    """
    ### BEGIN SOLUTION
    counted = real[..., None].to(hidden.dtype)  # (B, T, D=1): 1 or 0
    return (hidden * counted).sum(1) / counted.sum(1)
    ### END SOLUTION


# %%
check("4.J", mean_pool)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# `hidden` is (B, T, D) and `real` is (B, T). Which axis must `real` get, so that the
# two can be multiplied?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Padding times 0 adds nothing to a sum. How many ones are there in each row of `real`?
# </details>

# %% [markdown] slide="skip"
# How many of 20 queries will your encoder answer with the right one of the 320
# sentences?

# %% slide="subslide"
mine.take("4.J", mean_pool)
sentences = load_sentences()
my_vectors = sentence_vectors(sentences, my_encoder, tokenizer, mine.mean_pool)


def my_search(text: str, count: int = 5) -> list[tuple[str, float]]:
    """The best sentences for a query, each with its cosine."""
    (query,) = sentence_vectors([text], my_encoder, tokenizer, mine.mean_pool)
    found = nearest(query, my_vectors, count)
    return [(sentences[place], cosine) for place, cosine in found]


right = sum(my_search(text, 1)[0][0] == wanted for text, wanted in load_queries())
print(f"right sentence first: {right} of {len(load_queries())}")
assert right == 20

# %% [markdown] slide="notes"
# **2 minutes.** Ask: 20 queries, 320 sentences. How many are right at the first place?
#
# Expect: "15". It is 20.
#
# Say: take a query from the room, run it, and read all five. Then try one with *not* in
# it, and look at what does not change.

# %% slide="subslide"
query = "a burglary in our house"

show_figure(
    draw.matches(query, my_search(query)),
    "Bars of the five best matches for the query, the longest on top, each with its "
    "sentence and its cosine.",
)

# %% [markdown] slide="notes"
# **3 minutes.** Ask: what would you type to fool it?
#
# Expect: negations, names, numbers. Try theirs, live.
#
# Say: *no rain today* finds a sentence about rain, and *It is raining* and *It is not
# raining* have a cosine of 0.93. A mean of vectors says what a text is about, and
# hardly whether it is denied.

# %% [markdown] slide="skip"
# Put your own words into `query` and run it again. Can you make it fail? And what will
# the next cell find for *no rain today*?

# %% tags=["nbval-check-output"] slide="skip"
for text in ("no rain today", "the train was on time"):
    ((sentence, cosine),) = search(text, 1)
    print(f"{text:24} {cosine:.2f}  {sentence}")

pair, encoder = ["It is raining.", "It is not raining."], reference.bert_encoder
yes, no = sentence_vectors(pair, encoder(bert.state_dict()), tokenizer)
print(*pair, f"cosine {F.cosine_similarity(yes, no, dim=0):.2f}")

# %% [markdown] slide="skip"
# Twenty of twenty, and yet it misses what no reader misses: the vector says what a
# sentence is about, but raining and not raining are almost the same to it.

# %% [markdown] slide="slide"
# ## Going further
#
# The core is whole: your parts are BERT. From here on everything is optional: two bugs
# from published code, how much each difference from BERT matters, where the parameters
# are, and why the norm moved to the front of each sub-layer in deep models.

# %% [markdown]
# ### Bugs from the wild
#
# **A norm that is right enough to pass.** You may meet the class below. `std()` divides
# by D − 1, and ε stands outside of the root. For [2, −1, 3, 0] it gives 0.5477 where
# the formula gives 0.6325. Why might nobody notice? Guess at which width of a model the
# error is largest, then run the cells.


# %% locked=true
class PublishedNorm(nn.Module):
    """What was published, in our spelling."""

    def __init__(self, features: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.gamma, self.beta = torch.ones(features), torch.zeros(features)
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        return self.gamma * (x - mean) / (std + self.eps) + self.beta


# %% tags=["nbval-check-output"]
show("published", PublishedNorm(4)(torch.tensor([2.0, -1.0, 3.0, 0.0])))
draws = torch.Generator().manual_seed(0)
for d_model in (4, 64, 300, 768):
    x = torch.randn(100, d_model, generator=draws)
    published, right = PublishedNorm(d_model)(x), F.layer_norm(x, (d_model,), eps=1e-6)
    largest, loose = (published - right).abs().max(), {"rtol": 0, "atol": 1e-2}
    passes = torch.allclose(published, right, **loose)
    print(f"d_model {d_model:3}: off by {largest:.4f}, passes atol=1e-2: {passes}")

# %% [markdown]
# In wide models the error sinks below a loose tolerance. So test with *small* widths,
# in float64, and with a tight tolerance. And ε shows only where the variance is tiny:
# there the two differ by a factor of nearly nine, and their slopes by a factor of a
# thousand.

# %% tags=["nbval-check-output"]
tiny = torch.tensor([[1e-4, -1e-4, 1e-4, -1e-4]], dtype=torch.float64)
show("published, tiny row", PublishedNorm(4).double()(tiny))
show("formula,   tiny row", F.layer_norm(tiny, (4,), eps=1e-6))

for name, norm in (("published", PublishedNorm(4)),
                   ("formula", lambda x: F.layer_norm(x, (4,), eps=1e-6))):  # fmt: skip
    near = torch.full((4,), 0.7, dtype=torch.float64) + 1e-12 * torch.arange(4.0)
    near.requires_grad_()
    (slope,) = torch.autograd.grad(norm(near)[0], near)
    print(f"{name:9} slope at a row that is nearly constant: {slope[0]:8.2g}")

# %% [markdown] exercise="4.K"
# Write the **test** that would have found it. `is_layer_norm(norm)` calls a function
# (T, D) → (T, D), with gain 1, bias 0 and ε = 1e-5, on numbers of your choice. You may
# compare with `F.layer_norm`: which numbers you choose decides what you find.


# %% exercise="4.K"
def is_layer_norm(norm) -> bool:
    """Test whether a function is layer norm.

    Args:
        norm: takes (T, D), returns (T, D); gain 1, bias 0, eps 1e-5

    Returns:
        True if it is, False if it is something similar.
    """
    ### BEGIN SOLUTION
    #: x = ...  # which rows tell right from wrong?
    x = torch.randn(5, 3, dtype=torch.float64)  # narrow: D and D - 1 differ most
    x[0] *= 1e-3  # a tiny variance: here epsilon matters
    expected = F.layer_norm(x, (3,))
    return torch.allclose(norm(x), expected, rtol=0, atol=1e-8)
    ### END SOLUTION


# %%
check("4.K", is_layer_norm)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# For which width is D − 1 farthest from D? For which rows is ε not negligible?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Several rows, few columns, float64, and one row whose numbers differ by a thousandth.
# `torch.allclose` has a tolerance of its own unless you say which.
# </details>


# %%
def published(x: Tensor) -> Tensor:
    """The published norm, as wide as what comes in."""
    return PublishedNorm(x.shape[-1], eps=1e-5)(x)


def torchs(x: Tensor) -> Tensor:
    """What torch has, as wide as what comes in."""
    return F.layer_norm(x, x.shape[-1:])


print("the published one is a layer norm:", is_layer_norm(published))
print("torch's one is a layer norm:", is_layer_norm(torchs))

# %% [markdown]
# **A pair where a tensor belongs.** In lessons 02 and 03 your functions returned the
# weights as well, because you wanted to look at them. What happens to a residual
# connection around such a function?

# %% [markdown] exercise="4.L"
# The step below is taken from a template, and Python refuses it, as you see. Write it
# as it was meant: pre-norm, with an attention that returns (output, weights).


# %% locked=true tags=["nbval-check-output"]
def attend(y: Tensor) -> tuple[Tensor, Tensor]:
    """Attention without projections: output and weights."""
    weights = (y @ y.mT / y.shape[-1] ** 0.5).softmax(-1)
    return weights @ y, weights


def buggy_step(x: Tensor, norm, attend) -> Tensor:
    """One residual step that does not work."""
    x = x + attend(norm(x))
    return x


try:
    buggy_step(torch.randn(2, 5, 8), nn.LayerNorm(8), attend)
except TypeError as error:
    print(f"{type(error).__name__}: {error}")


# %% exercise="4.L"
def pre_norm_step(x: Tensor, norm, attend) -> Tensor:
    """One residual step around an attention.

    Args:
        x: (B, T, D)
        norm: (B, T, D) -> (B, T, D)
        attend: (B, T, D) -> output (B, T, D), weights (B, T, T)

    Returns:
        (B, T, D)
    """
    ### BEGIN SOLUTION
    output, _ = attend(norm(x))
    return x + output
    ### END SOLUTION


# %%
check("4.L", pre_norm_step)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# What two things does the right side of the plus hold, and which one has x's shape?
# </details>

# %% [markdown]
# A part of a model that is nearly always wanted for one thing should return that one
# thing, which is why `mine.MultiHeadAttention` gives its output alone.

# %% [markdown]
# ### Each difference matters
#
# The next cell adapts the course's encoder to BERT, undoes one of the adaptations at a
# time, and shows how far the vectors move from the library's. Which of them do you
# expect to be harmless, and which will ruin everything?


# %% tags=["nbval-check-output"]
def undone(what: str) -> nn.Module:
    """BERT in the course's encoder, with one thing left as it was before."""
    encoder = reference.bert_encoder(bert.state_dict(), num_heads=12)
    front = encoder.positions
    for one in encoder.layers:
        options = {"ReLU": "relu", "tanh GELU": "gelu_tanh"}
        one.feed_forward.activation = options.get(what, "gelu")
        one.norm_first = what == "pre-norm"
        one.attention.num_heads = 6 if what == "6 heads" else 12
        if what == "ε = 1e-5":
            one.norm1.eps = one.norm2.eps = front.norm.eps = 1e-5
    if what == "sine waves":
        front.position.weight.data = positional_encoding(512, 384)
    if what == "no token type":
        front.token_type.weight.data.zero_()
    if what == "no norm in front":
        front.norm = nn.Identity()
    if what == "table not divided":
        encoder.embedding.table.weight.data *= 384**0.5
    if what == "one head less":  # what head 1 of layer 2 would write
        encoder.layers[2].attention.W_o.weight.data[:, 32:64] = 0
    return encoder


mask = real[:, None, None]
exact = load_encoder().double()
with torch.no_grad():
    got = reference.bert_encoder(exact.state_dict())(ids, mask)
    off = (got - exact(**batch).last_hidden_state)[real].abs().max()
print(f"in float64: below 1e-9: {bool(off < 1e-9)}")
for what in ("nothing", "ε = 1e-5", "tanh GELU", "ReLU", "6 heads", "one head less",
             "sine waves",
             "table not divided", "no token type", "no norm in front",
             "pre-norm", "no mask"):  # fmt: skip
    with torch.no_grad():
        got = undone(what)(ids, None if what == "no mask" else mask)
    off = (got - library)[real].abs().max().item()
    assert off < 5e-5 if what == "nothing" else off > 5e-4
    text = "below 5e-05" if what == "nothing" else f"{off:.0e}"
    print(f"undone: {what:18} largest difference {text}")

# %% [markdown]
# A wrong ε is off by two thousandths, which nobody would notice by eye. A missing mask
# or another number of heads fits every shape, and is off by more than 1. And if a
# single one of the 72 heads is silent, the one that looked at *tired* at the start of
# lesson 03, the vectors move by two tenths. In float64, where rounding is far finer,
# the course's encoder and the library's agree to within 1e-9. (What BERT has on top of
# the layers, a `pooler` and the heads of its two training tasks, comes after the
# vectors that are compared here; lesson 09 needs it.)

# %% [markdown]
# ### Four details, worked out
#
# The first is dropout, a remedy for **overfitting**, where a network learns its
# training texts by heart. Here it has a rate of 0.1 and works on a hundred thousand
# ones. What do you expect the mean to be, once a tenth of the ones has become 0? (While
# they are trained, BERT and GPT-2 also drop some of the *attention weights*, right
# after the softmax, so that no word comes to rely on a single other one. You will see
# it in much published code; our classes do without.)

# %% tags=["nbval-check-output"]
dropout, ones = nn.Dropout(0.1), torch.ones(100_000)
torch.manual_seed(0)
trained = dropout.train()(ones)
show("share of zeros", (trained == 0).float().mean(), digits=2)
show("the others", trained.max())
show("mean", trained.mean(), digits=2)
print("in eval mode unchanged:", torch.equal(dropout.eval()(ones), ones))

# %% [markdown]
# The second is a feed-forward network small enough for a pencil: four numbers in, two
# in between, four out. What does the first example *not* test? Both of its numbers in
# the middle are positive, so the ReLU has nothing to cut, and leaving it out gives the
# same output. An example for a test has to be one that fails when you are wrong, like
# the second, where one sign of x is changed.

# %% tags=["nbval-check-output"]
W1 = torch.tensor([[0.1, 0.2], [-0.3, 0.4], [0.2, -0.1], [0.3, 0.25]])  # (D=4, F=2)
b1 = torch.tensor([-0.1, -0.05])
W2 = torch.tensor([[0.8, -0.5, 0.4, -0.2], [0.4, 0.3, 0.6, 0.2]])  # (F=2, D=4)
b2 = torch.tensor([0.1, -0.01, 0.0, 0.15])

for x in (torch.tensor([0.5, -0.2, 0.1, 0.8]), torch.tensor([-0.5, -0.2, 0.1, 0.8])):
    inside = x @ W1 + b1
    show("before the ReLU", inside)
    show("  with ReLU   ", F.relu(inside) @ W2 + b2)
    show("  without ReLU", inside @ W2 + b2)

# %% [markdown] exercise="4.M"
# Suppose an encoder has d_model = 300 and d_ff = 64, narrower inside than outside. Its
# feed-forward learns 38,764 numbers, its attention 361,200. The paper widens by 4. How
# many **parameters** has the feed-forward with d_model = 300 and d_ff = 1200?


# %% tags=["nbval-check-output"]
from transformers import BertConfig, BertModel


def count(module: nn.Module) -> int:
    """How many numbers a module learns."""
    return sum(value.numel() for value in module.parameters())


print("attention", f"{count(MultiHeadAttention(300, 6)):11,}")
print("d_ff =  64", f"{count(parts.FeedForward(300, 64)):10,}")
print(
    "embedding and 12 layers", f"{count(reference.Encoder(10_000, 300, 6, 64, 12)):,}"
)
with torch.device("meta"):  # shapes only, no memory
    print("bert-base", f"{count(BertModel(BertConfig())):11,}")

# %% exercise="4.M"
### BEGIN SOLUTION
feed_forward_parameters = 300 * 1200 + 1200 + 1200 * 300 + 300
### END SOLUTION

# %%
check("4.M", feed_forward_parameters)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# Two matrices and two biases. How long is each bias?
# </details>

# %% [markdown]
# Why √d_model? The paper multiplies the embedding by it and does not say why. Its
# authors' code draws the table with a standard deviation of 1/√d_model, so that the
# product has one of 1. A default `nn.Embedding` has a standard deviation of 1 already,
# and once it is multiplied, the positions hardly count beside it.

# %% tags=["nbval-check-output"]
torch.manual_seed(0)
waves = positional_encoding(30, 300)  # (T, D)
table = nn.Embedding(1000, 300).weight.detach()
for name, words in (("default, as it is", table), ("default, scaled", table * 300**0.5),
                    ("authors', scaled", table / 300**0.5 * 300**0.5)):  # fmt: skip
    share = waves.std() / (words.std() + waves.std())
    print(f"{name:18} std {words.std():5.2f}   positions' share of the sum {share:.0%}")

# %% [markdown] slide="slide"
# ### Two norm orders, and depth
#
# BERT is post-norm, GPT-2 is pre-norm. Why did the field change?

# %%
show_figure(
    draw.block_orders(),
    "Two diagrams of a layer. Post-norm: the norms stand on the thick line of the "
    "stream, each behind a sum. Pre-norm: each norm stands on the way up to its "
    "sub-layer, and nothing but the two sums is on the line.",
)

# %% [markdown]
# Follow the thick line. In pre-norm nothing but sums stands in its way, as in the
# stream that you took apart; in post-norm it goes through every norm. What that does to
# training can be seen before the first step: measure the gradient that each layer gets.

# %% [markdown] exercise="4.N"
# Write the measurement. Send x through all layers, compute the loss, go backward, and
# return the norm of the gradient of each layer's `feed_forward.W_1.weight`. Beware:
# calling it twice must give the same numbers.


# %% exercise="4.N"
def gradient_by_depth(layers: nn.ModuleList, loss_of, x: Tensor) -> Tensor:
    """How strongly each layer is asked to change.

    Args:
        layers: encoder layers, called without a mask
        loss_of: turns what the last layer puts out into a number
        x: (B, T, D)

    Returns:
        (layers,): the norm of the gradient of each layer's feed_forward.W_1.weight,
        the first layer first.
    """
    ### BEGIN SOLUTION
    for layer in layers:
        layer.zero_grad()
        x = layer(x)
    loss_of(x).backward()
    gradients = [layer.feed_forward.W_1.weight.grad for layer in layers]
    return torch.stack([gradient.norm() for gradient in gradients])
    ### END SOLUTION


# %%
check("4.N", gradient_by_depth)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# What does `backward` do with a gradient that is there already?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `zero_grad` on a module clears the gradients of all its parameters; `Tensor.norm`
# squares, adds up and takes the root.
# </details>

# %%
stack = deep_stack.fresh_stack(num_layers=6, norm_first=False, seed=0)
show("six post-norm layers", gradient_by_depth(stack.layers, stack.loss_of, stack.x))

# %% [markdown]
# Now 24 fresh layers of each kind, and stacks of different heights. Where do you expect
# the largest gradient, near the input or near the output? Five seeds are drawn as their
# mean, and the cell after the figure counts in how many of them each sentence holds.

# %%
counts, seeds = (3, 6, 12, 24), range(5)
by_layer, last, spread = {}, {}, {}
for name, norm_first in (("post-norm", False), ("pre-norm", True)):
    found = [deep_stack.gradients(n, norm_first, seeds) for n in counts]
    by_layer[name] = found[-1]  # (seeds, layers=24)
    last[name] = torch.stack([some[:, -1] for some in found])  # (counts, seeds)
    spread[name] = deep_stack.spreads(24, norm_first, seeds)  # (seeds, layers=24)

# %%
show_figure(
    draw.depth(
        {name: values.mean(0).tolist() for name, values in by_layer.items()},
        counts,
        {name: values.mean(1).tolist() for name, values in last.items()},
        {name: values.mean(0).tolist() for name, values in spread.items()},
    ),
    "Three plots. Gradient norm by layer: post-norm rises towards the output, pre-norm "
    "falls. Gradient norm of the last layer against depth: post-norm stays, pre-norm "
    "falls. Spread of the outputs: post-norm stays at 1, pre-norm grows to about 4.",
)

# %% slide="skip" tags=["nbval-check-output"]
post, pre = last["post-norm"], last["pre-norm"]  # (counts, seeds)
growth = {name: some[:, -1] / some[:, 0] for name, some in by_layer.items()}
for text, holds in {
    "post-norm, 24 layers: the last gradient exceeds the first": growth["post-norm"]
    > 1,
    "pre-norm, 24 layers: it is less than three quarters": growth["pre-norm"] < 0.75,
    "pre-norm: from 3 to 24 layers the last one loses 40 %": pre[-1] < 0.6 * pre[0],
    "24 layers: post-norm's last is over twice pre-norm's": post[-1] > 2 * pre[-1],
}.items():
    print(f"{text}, in {int(holds.sum())} of {len(seeds)} seeds")
    assert holds.all()
assert 0.7 < (post[-1] / post[0]).mean() < 1.4

# %% [markdown]
# In post-norm the last layer gets a larger gradient than the first, and about as large
# a one in a stack of 24 as in a stack of 3. In pre-norm the gradient of the last layer
# shrinks as the stack grows, about as 1/√layers. This is one reason for the
# **warm-up**, the small steps with which the training of post-norm models begins: Xiong
# et al. 2020 measured this gradient, and trained pre-norm models without one. There are
# other reasons, among them what the optimizer knows after its first few steps, and here
# only the start was measured.

# %% [markdown]
# Pre-norm has a price: sum after sum, the numbers in the stream grow. So a stack of
# such layers needs one more norm at its end, `self.norm` in your encoder. What comes
# out of 24 layers without it?

# %% tags=["nbval-check-output"]
stack = deep_stack.fresh_stack(24, norm_first=True, seed=0)
with torch.no_grad():
    x = stack.x
    for layer in stack.layers:
        x = layer(x)
show("24 pre-norm layers, std", x.std(), digits=1)
show("with the norm at the end, std", stack.norm(x).std(), digits=1)
assert (spread["pre-norm"][:, -1] > 2.5).all()
assert ((spread["post-norm"][:, -1] - 1).abs() < 0.01).all()

# %% [markdown] exercise="4.P"
# You are asked to build an encoder with **48 layers**, trained from scratch. Pre-norm
# or post-norm? Say what you measured above, what you would add or set for your choice,
# and what the other choice would have had in its favour. Six sentences will do.

# %% [markdown] answer="4.P"
# ### BEGIN SOLUTION
# **Model answer.** I would take pre-norm. In my measurement the last of 24 post-norm
# layers got more than twice the gradient of the last of 24 pre-norm layers, and it did
# not shrink with depth, so post-norm wants small steps at the start, a warm-up. In
# pre-norm the residual is a plain sum from the input to the output, so the gradient
# reaches every layer. The price is that the outputs grow with depth, to a standard
# deviation of about 4 after 24 layers here, so a last layer norm is needed before the
# head. Two things can be said for post-norm: because every sub-layer ends in a norm,
# its outputs stay in the same range, and late layers count as much as early ones, while
# in pre-norm they add little to a large sum; BERT was trained that way, with warm-up.
# What I measured is the state before training, in small layers, and for 48 real ones I
# would repeat it.
#
# **Rubric (3 points).** 1: uses a measured fact about gradients in both orders. 1:
# names the last norm for pre-norm, or warm-up for post-norm. 1: names something that
# speaks for the other choice, or the limits of the measurement.
# ### END SOLUTION

# %% [markdown] slide="slide"
# ## What you can do now
#
# You can say why attention needs a residual stream around it, and take the vector of a
# word apart into what each sub-layer wrote. You can write the feed-forward network,
# layer norm, the layer in both norm orders and the encoder, and test them so that
# errors show. And you have loaded published weights into your own classes, proved that
# they agree with the library, and searched by meaning with the result.
#
# An encoder reads. Next, lesson 05 builds the other half, a decoder that writes: it
# looks back at what it has written, and across at the vectors of your encoder, to
# decide between *er*, *sie* and *es*.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: tell your neighbour the way of one word through the encoder, from
# its id to its last vector, without looking.
#
# Expect: the plus signs and the norm are forgotten, attention is not.
#
# Say: an encoder reads, and writes nothing. Lesson 05 adds the half that writes. Then
# take their questions.

# %% [markdown] slide="skip"
# **References.** Vaswani et al. 2017 (arXiv 1706.03762), sections 3.1, 3.3, 3.4 and
# 5.4. He et al. 2016, *Deep Residual Learning* (arXiv 1512.03385). Elhage et al. 2021,
# *A Mathematical Framework for Transformer Circuits*, for the residual stream. Ba et
# al. 2016, *Layer Normalization* (arXiv 1607.06450). Srivastava et al. 2014, *Dropout*
# (JMLR 15). Hendrycks and Gimpel 2016, GELU (arXiv 1606.08415). Devlin et al. 2019,
# BERT (arXiv 1810.04805). Xiong et al. 2020, *On Layer Normalization in the Transformer
# Architecture* (arXiv 2002.04745). Dong et al. 2021, *Attention is not all you need*
# (arXiv 2103.03404). Reimers and Gurevych 2019, *Sentence-BERT* (arXiv 1908.10084).
