# %% [markdown] slide="slide"
# # 05 The decoder: the other half
#
# **How can a model write, word by word, while it keeps an eye on what it has read?**
#
# You need: attention with several heads (lesson 03) and the encoder (lesson 04).
# Time: {minutes}. Everything runs on your laptop's CPU, without a network.

# %% [markdown] slide="notes"
# **1 minute.** Say: so far our models could read. Today one learns to write, and at the
# end your own code writes German.
#
# Ask: what does the encoder of lesson 04 give back for a sentence of 13 tokens?
#
# Expect: "13 vectors". So why is that not a translation?

# %% [markdown] slide="slide"
# ## Who decided on *es*?
#
# > The animal did not cross the street because **it** was too tired.
#
# German has three words for *it*, one for each gender of the noun: *er* for *der Hund*
# (the dog), *sie* for *die Straße* (the street), *es* for *das Tier* (the animal).

# %% [markdown] slide="notes"
# **2 minutes.** Say: whoever translates this has to decide what *it* stands for.
#
# Ask, before you press: *es* or *sie*? And if the last word is *wide*?
#
# Expect: *es*, then *sie*, from those who know German. Let one of them explain it.
#
# Say: the model is right both times. It learned for two minutes, from sentences in
# which *animal* and *street* never stood together.

# %% [markdown] slide="skip"
# You don't need to know any German for this lesson, only that a translator can't leave
# the question open. Below is the translator that you met in lesson 00, a small
# Transformer that comes with the course. Which of the three will it write, and which if
# the last word is *wide*? And a harder question, to which this lesson will come back:
# how could you find out what made it choose?

# %%
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import pretrained, show
from helpers.checks import check
from helpers.corpora.language.lookup import lookup
from helpers.corpora.language.words import parted
from helpers.corpora.vocabulary import END, START
from helpers.experiments.bundled import load_translator
from helpers.experiments.writing import (
    fill,
    letters_backwards,
    to_ids,
    to_words,
    watch,
)
from helpers.figures import decoder as watching
from helpers.figures import show_figure
from helpers.figures import transformer as draw
from helpers.figures.play import play
from helpers.generation import decoding
from helpers.models import transformer as course
from helpers.models.attention import attention
from helpers.models.encoder import Encoder, EncoderLayer
from helpers.models.layers import FeedForward
from helpers.models.positions import PositionalEncoding, TokenEmbedding
from helpers.student.own_parts import OwnParts
from helpers.training import bar

_ = torch.manual_seed(5)

# %% tags=["nbval-check-output"] slide="fragment" locked=true
TIRED = "The animal did not cross the street because it was too tired."
WIDE = TIRED.replace("tired", "wide")

german = load_translator("de")
for sentence in (TIRED, WIDE):
    print(german(sentence))

# %% [markdown] slide="skip"
# It is right both times. Your encoder could not have done this. It gives back one
# vector for each word that it has read, and in the same order, but in German *war*
# (was) has moved to the end, *did* is gone, and a comma has appeared. So a second
# network does the writing, the **decoder**. It writes one word at a time. At each step
# it gets the words that it has written so far, looks at what the encoder has made of
# the English sentence, and gives every word of its vocabulary a probability of coming
# next. The most probable one is appended, and with it the next step begins. A model
# that goes on from its own output in this way is called **autoregressive**.

# %% [markdown] slide="skip"
# At the end of this lesson you can
#
# - build a decoder layer, a decoder and the whole Transformer of 2017;
# - let it write a sentence, and say what it may look at while it does;
# - find out by experiment where a word of a translation came from;
# - tell by measurement when a model cheats, reads padding, or does not listen.

# %% [markdown] slide="subslide"
# Now watch the translator write. The picture opens at the step that writes *es*. The
# darker an English word, the more attention this step gives to it. Before you look
# closely: which English word should the decoder look at, in order to choose between
# *es* and *sie*? Then move the slider to step 1 and follow the sentence to its end, and
# change *tired* to *wide*.

# %% slide="fragment"
runs = {end: watch(german, TIRED.replace("tired", end)) for end in ("tired", "wide")}
play(watching.writing(runs))
words, steps = runs["tired"]
looks = {word: round(steps[8].looks[words.index(word)].item(), 2) for word in words}
assert steps[8].words[0] == "es" and round(steps[8].odds[0], 2) == 0.88
shares = [looks[word] for word in ("tired", "end", "street", "animal")]
assert shares == [0.32, 0.22, 0.13, 0.12]

# %% [markdown] slide="notes"
# **4 minutes.** Ask, before you press: when it writes *es*, which English word should
# it look at?
#
# Expect: "animal", or "it".
#
# Say: it looks at *tired* most, and as much at *street* as at *animal*. Step through
# the sentence: *Tier* looks at *animal* as it should. What the map of step 9 means we
# shall ask by experiment, at the end.

# %% [markdown] slide="skip"
# Most steps look where you would have looked: *Tier* at *animal*, *müde* at *tired*.
# But the step that writes *es* spreads its attention, at least in this picture, the
# mean of eight heads: *tired* gets the largest share, 0.32, *end*, which is not even a
# word, gets 0.22, and *street* gets 0.13, a little more than the 0.12 of *animal*. Does
# *animal* matter at all? A map can't say. You will settle it for this sentence by an
# experiment, on a Transformer that you have written yourself, and for that you need the
# decoder first.

# %% [markdown] slide="slide"
# ## Cross-attention: asking the other sentence
#
# The words that were **written** ask, and the words that were **read** answer. So the
# **queries** come from the decoder, and **keys and values** from the encoder's output,
# which is called the **memory**.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: cover the picture. Who asks, who is asked, and whose values are
# handed over?
#
# Expect: Q from the decoder is quick; some take V from the decoder as well.
#
# Say: follow one row of Q through the picture. However long the source is, one vector
# comes back for each word that asks.

# %%
show_figure(
    watching.cross_flow(["it", "was", "too", "tired", "(padding)"],
                        ["weil", "es", "zu"], hidden=1),
    "Cross-attention. The decoder's vectors of three written words become Q; the "
    "memory of five read words, the last of them padding, becomes K and V. Q times K "
    "transposed gives scores, three rows and five columns. A mask sets the column of "
    "the padding to minus infinity before the softmax. Weights times V is the output, "
    "with a row for each of the three written words.",
)  # fmt: skip

# %% [markdown] slide="skip"
# This is attention as you know it from lesson 02, with one difference: the two sides
# are different sentences. It is called **cross-attention**. Each German word becomes a
# query, "what do I need from the English sentence to go on?", and is compared with a
# key of each English word. So the matrix of weights has a row for each of the T words
# written and a column for each of the S words read, and it need not be square. The
# output has T rows again, and that is how the two sentences may differ in length. One
# mask enters here: columns that are padding get the score minus infinity, as in lesson
# 04. Nothing else is hidden, for the whole source was there before the first word was
# written.

# %% [markdown] slide="subslide"
# Do it by hand, with a pencil: two written words look at three read ones, without
# projections. How many rows and columns will the weights have, and where will the
# second one look? Write it down, then run the cell.

# %% [markdown] slide="notes"
# **1 minute.** Ask: how many rows, how many columns? Which keys fit the second query?
#
# Expect: (2, 3); the last two, equally well.
#
# Say: their scores are equal, so they get 0.4717 each, and the first key keeps the
# rest.

# %% tags=["nbval-check-output"]
written = torch.tensor([[2.0, 0.0], [0.0, 3.0]])  # (T=2, 2): queries
memory = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])  # (S=3, 2): keys, values
found, weights = attention(written, memory, memory, need_weights=True)
show("weights", weights)  # (T, S): a row for each written word
show("found", found)  # (T, 2): as many as were written

# %% [markdown] slide="slide"
# ## What training looks like: teacher forcing
#
# In training the right translation is known. So the decoder need not wait for its own
# words: it gets the **true** ones, all at once, and at each place it has to say which
# word comes next. This is called **teacher forcing**.

# %% [markdown] slide="notes"
# **3 minutes.** Ask: which word has to be predicted in the third row? What would the
# model do if it could see the whole row?
#
# Expect: "zu"; then "copy it".
#
# Say: six predictions from one pass, instead of six passes. The white triangle is the
# price. On the right there is no teacher, and the words above the table are its own.

# %%
show_figure(
    watching.forcing(["weil", "es", "zu", "müde", "war"]),
    "Two tables with a row for each word to be said and a column for each word given. "
    "In both only the lower triangle is filled: a row sees the words up to its own "
    "place, and has to say the next one. On the left, in training, the given words are "
    "the true ones and all rows are computed at once. On the right, in use, they are "
    "the words that the model wrote itself, row by row.",
)

# %% [markdown] slide="skip"
# One sentence gives a whole handful of tasks: after *start* say *weil*, after *start
# weil* say *es*, and so on, all of them in a single pass. But the answer to each task
# stands one place to the right, in plain sight. A model that may look there learns to
# copy it and nothing else. So the decoder's self-attention gets a **causal mask** (also
# called a look-ahead mask): a word may look at itself and at the words before it, and
# at none after it. You build this mask in lesson 06; until then you use the course's.
# Here it is, True where a word may look, and what it does to the weights of three
# words. What must the first row be?

# %% tags=["nbval-check-output"] slide="skip"
may_look = course.look_ahead_mask(3)  # (T, T), True = may attend
show("may look", may_look.int())
own = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])  # (T=3, 2)
_, weights = attention(own, own, own, may_look, need_weights=True)
show("weights", weights)

# %% [markdown] slide="skip"
# The first word has only itself to look at, so its whole weight is 1.0000. When the
# model is used, there is no teacher any more. It goes on from its own words, and if one
# of them is wrong, it stands in the middle of a sentence unlike any that it saw in
# training, where every beginning was correct. This difference between training and use
# is called **exposure bias**, because the model has only been exposed to true
# beginnings.

# %% [markdown] slide="slide"
# ## The decoder layer
#
# Now you know both attentions of a decoder. Here is where they stand:

# %% [markdown] slide="notes"
# **3 minutes.** Say: from bottom to top, box by box; every letter and every mask once.
#
# Ask: an encoder layer has two sub-layers. Which is the third one here? How many of the
# three attentions need the causal mask?
#
# Expect: cross-attention; "two", from those who count the one in the middle. It is one:
# the source has no future.

# %% slide="fragment"
show_figure(
    draw.architecture(),
    "The Transformer. Left, the encoder: embedding and positions, then N layers of "
    "self-attention, which takes Q, K and V from below and the padding mask of the "
    "source, and feed-forward, each with add and norm; its output is the memory. "
    "Right, the decoder: self-attention with the causal mask; cross-attention, which "
    "takes Q from below, K and V from the memory, and the padding mask of the source; "
    "feed-forward; on top a final layer and a softmax that give the next word.",
)

# %% [markdown] slide="skip"
# Walk through the right half. The words written so far become vectors and get their
# positions. Then they look at each other, through the causal mask. Then they look at
# the memory: K and V come in from the left, and only Q comes from below. Then the
# feed-forward network of lesson 04 works on each vector by itself. A residual
# connection leads around each of the three **sub-layers**, as in the encoder. On top, a
# last linear layer turns each vector into one score per word. (The drawing follows
# figure 1 of Vaswani et al. 2017.)

# %% [markdown] slide="skip"
# In comments about shapes, `T` is the length of the target (the words that ask) and `S`
# that of the source (the words that are asked). A mask is boolean, and True means "may
# attend". The attention in your layer is the one that you wrote in 3.C, if that has
# passed.

# %% locked=true slide="skip"
mine = OwnParts()
mine.take("3.C")

# %% [markdown] exercise="5.A" slide="slide"
# Build the layer. It has three sub-layers: `self_attention`, `cross_attention` (each a
# `mine.MultiHeadAttention(d_model, num_heads)`) and `feed_forward`. Each of them gets a
# residual connection, dropout on its result before that is added, and a layer norm of
# its own, `norm1`, `norm2`, `norm3`. The flag `norm_first` chooses between pre-norm and
# post-norm, as in lesson 04. The memory is normalised already.

# %% [markdown] slide="notes"
# **5 minutes.** Say: you dictate, I type, in post-norm; pre-norm is for the lab.
#
# Ask, before each sub-layer: who asks, who is asked, which mask?
#
# Expect: the first and the last from lesson 04; in the middle a moment's silence, and
# then `source_mask`, from some `target_mask`.
#
# Say: memory comes in once, in the middle, as K and V. Its mask goes with it, for a
# mask is as wide as what is looked at.


# %% exercise="5.A"
class DecoderLayer(nn.Module):
    """Look at what is written, then at the source, then work on each word alone."""

    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1,
        activation: str = "relu", norm_first: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.norm_first = norm_first
        self.dropout = nn.Dropout(dropout)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        ### BEGIN SOLUTION
        self.self_attention = mine.MultiHeadAttention(d_model, num_heads)
        self.cross_attention = mine.MultiHeadAttention(d_model, num_heads)
        ### END SOLUTION

    def forward(
        self, x: Tensor, memory: Tensor,
        target_mask: Tensor | None, source_mask: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Written words x (B, T, D), memory (B, S, D) -> (B, T, D).

        The masks broadcast to (B, H, T, T) and to (B, H, T, S).
        """
        ### BEGIN SOLUTION
        y = self.norm1(x) if self.norm_first else x
        x = x + self.dropout(self.self_attention(y, y, y, target_mask))
        x = x if self.norm_first else self.norm1(x)

        y = self.norm2(x) if self.norm_first else x
        x = x + self.dropout(self.cross_attention(y, memory, memory, source_mask))
        x = x if self.norm_first else self.norm2(x)

        y = self.norm3(x) if self.norm_first else x
        x = x + self.dropout(self.feed_forward(y))
        return x if self.norm_first else self.norm3(x)
        ### END SOLUTION


# %%
check("5.A", DecoderLayer)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# The attention takes (query, key, value, mask). For each of the two attentions:
# who asks, and who is looked at?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The encoder layer of lesson 04 already has the first and the last third. Only the
# middle is new, and only there `memory` appears. Each mask is as wide as what is looked
# at.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# for each of the three sub-layers: take x (pre-norm: its norm), run the sub-layer on
# it, drop out, add to x; in post-norm: normalise the sum.
# </details>

# %% locked=true slide="skip"
mine.take("5.A", DecoderLayer)
x, memory = torch.randn(64, 20, 300), torch.randn(64, 17, 300)  # (B, T, D), (B, S, D)
layer = mine.DecoderLayer(d_model=300, num_heads=6, d_ff=600)
print(tuple(layer(x, memory, course.look_ahead_mask(20)).shape))

# %% [markdown] slide="skip"
# Twenty written words asked, seventeen words of the source answered, and twenty vectors
# came back. `target_mask` has no default on purpose: if you forget it, you should get
# an error, and not a decoder that sees the future.

# %% [markdown] slide="slide"
# ## The decoder, and the whole Transformer
#
# A decoder is a stack of such layers on top of an embedding. All its layers read the
# **same** memory: the one that comes out of the top of the encoder.

# %% [markdown] slide="notes"
# **3 minutes.** Ask: layer 1 of the decoder runs beside layer 1 of the encoder. What
# does it read of the source?
#
# Expect: "the output of layer 1". It is the output of the last one, for all layers.
#
# Say: 5.B stacks the layers and 5.C puts the halves together, both in the lab. Ask once
# more: who needs `source_mask`? Both halves, and to forget one is a bug that we shall
# meet.

# %% tags=["nbval-check-output"] locked=true
config = course.TransformerConfig(
    source_vocab=8000, target_vocab=10_000, d_model=96, num_heads=6, d_ff=192,
    num_layers=2,
)  # fmt: skip
print(config.stack)  # what Encoder and Decoder take after the size of their vocabulary

# %% [markdown] exercise="5.B"
# Stack the layers. A decoder embeds the target's words, adds positions, applies
# dropout, runs its layers one after the other, and ends with `self.norm`. Build each
# layer as `mine.DecoderLayer`, which is yours if 5.A has passed, with weights of its
# own, and hand all the options on. The arguments stand in the order of `config.stack`,
# so that `Decoder(config.target_vocab, *config.stack)` works.


# %% exercise="5.B"
class Decoder(nn.Module):
    """Ids of the written words in, one vector per word out."""

    def __init__(
        self, vocab_size: int, d_model: int, num_heads: int, d_ff: int,
        num_layers: int, max_length: int = 512, dropout: float = 0.1,
        activation: str = "relu", norm_first: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_model)  # times sqrt(d_model)
        self.positions = PositionalEncoding(d_model, max_length)  # adds its table
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        ### BEGIN SOLUTION
        self.layers = nn.ModuleList(
            mine.DecoderLayer(d_model, num_heads, d_ff, dropout, activation, norm_first)
            for _ in range(num_layers)
        )
        ### END SOLUTION

    def forward(
        self, ids: Tensor, memory: Tensor,
        target_mask: Tensor | None, source_mask: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Ids (B, T), memory (B, S, D), masks as in the layer -> (B, T, D)."""
        ### BEGIN SOLUTION
        x = self.dropout(self.positions(self.embedding(ids)))  # (B, T, D)
        for layer in self.layers:
            x = layer(x, memory, target_mask, source_mask)
        return self.norm(x)
        ### END SOLUTION


# %%
check("5.B", Decoder)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which inputs are the same for every layer, and which one changes from layer to layer?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `nn.ModuleList` takes an iterable of modules. Create a new layer for each place; the
# same layer six times would share its weights.
# </details>

# %% locked=true slide="skip"
mine.take("5.B", Decoder)
decoder = mine.Decoder(config.target_vocab, *config.stack)
ids = torch.randint(1, config.target_vocab, (64, 20))  # (B, T)
memory = torch.randn(64, 17, config.d_model)  # (B, S, D)
print(tuple(decoder(ids, memory, course.look_ahead_mask(20)).shape))

# %% [markdown] slide="skip"
# These are vectors and not words yet: 96 numbers for each of the 20 places. What turns
# a vector into scores for words is one more linear layer. It does not belong to the
# decoder, but to the Transformer, which you build next.

# %% [markdown] exercise="5.C" slide="slide"
# Put the halves together. `encode` reads the source. `decode` writes: it returns
# **logits**, a raw score for every word of the target's vocabulary, at every place.
# `forward` does both, as training needs it. The parts are
# `Encoder(vocab_size, *config.stack)` and `mine.Decoder`, which takes the same. Think
# about who looks at the source: the source's mask is needed wherever that happens.


# %% exercise="5.C"
class Transformer(nn.Module):
    """Encoder, decoder, and a final linear layer with a bias."""

    def __init__(self, config: course.TransformerConfig) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.encoder = Encoder(config.source_vocab, *config.stack)
        self.decoder = mine.Decoder(config.target_vocab, *config.stack)
        self.final_layer = nn.Linear(config.d_model, config.target_vocab)
        ### END SOLUTION

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Read: (B, S) ids, mask (B, 1, 1, S) -> memory (B, S, D)."""
        ### BEGIN SOLUTION
        return self.encoder(source, source_mask)
        ### END SOLUTION

    def decode(
        self, target: Tensor, memory: Tensor,
        target_mask: Tensor | None, source_mask: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Write: (B, T) ids and memory (B, S, D) -> logits (B, T, V)."""
        ### BEGIN SOLUTION
        x = self.decoder(target, memory, target_mask, source_mask)  # (B, T, D)
        return self.final_layer(x)  # (B, T, V)
        ### END SOLUTION

    def forward(
        self, source: Tensor, target: Tensor,
        source_mask: Tensor | None, target_mask: Tensor | None,
    ) -> Tensor:  # fmt: skip
        """Both: (B, S) and (B, T) ids -> logits (B, T, V)."""
        ### BEGIN SOLUTION
        memory = self.encode(source, source_mask)  # (B, S, D)
        return self.decode(target, memory, target_mask, source_mask)
        ### END SOLUTION


# %%
check("5.C", Transformer)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Two places of the figure look at the source's words. Which ones? And which of the
# three parts knows the target's vocabulary?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# No softmax: the loss of lesson 06 takes raw scores, and the largest score stays the
# largest. Mind the order of the arguments: `forward` and `decode` differ.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# encode: the encoder on source and its mask. decode: the decoder on everything it gets,
# then the final layer. forward: encode, then decode with what it gave.
# </details>

# %% slide="skip"
source = torch.randint(1, 8000, (64, 17))  # (B, S)
target = torch.randint(1, 10_000, (64, 20))  # (B, T)
logits = Transformer(config)(source, target, None, course.look_ahead_mask(20))
print(tuple(logits.shape))  # a score for each of 10,000 words at each of 20 places

# %% [markdown] slide="slide"
# ## Let it write
#
# The logits say how well each word would fit next. The simplest way to turn them into a
# text is **greedy decoding**: begin with the start token, take the word with the
# highest score, append it, ask again, and stop at the end token.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: how often does the encoder run for a translation of 14 tokens, and
# how often the decoder?
#
# Expect: once, and 14 times.
#
# Say: of the T rows of logits only the last is new; the others answer old questions.
# You write this loop in the lab, 5.D.

# %% [markdown] exercise="5.D"
# Write it for a batch. The sentences end at different times: one that has ended is
# filled with padding (id 0) while the others go on. When all have ended, stop. Read the
# source only once, and call `decode` once per word. While writing, use the mask that
# training used: `course.look_ahead_mask`.


# %% exercise="5.D"
@torch.no_grad()
def greedy_decode(
    model: course.Transformer, source: Tensor, source_mask: Tensor | None,
    start: int, end: int, max_new_tokens: int,
) -> Tensor:  # fmt: skip
    """Write word by word, each time the one with the highest score.

    Args:
        model: has encode(source, source_mask) and
            decode(ids, memory, target_mask, source_mask), as in 5.C
        source: (B, S)
        source_mask: (B, 1, 1, S)
        start: the id that each target begins with
        end: the id that ends a sentence
        max_new_tokens: how many are written at most, not counting `start`

    Returns:
        (B, 1 + written) ids: start, words, end, then 0 up to the longest sentence
    """
    ids = torch.full((len(source), 1), start)  # (B, T=1)
    ended = torch.zeros(len(source), dtype=torch.bool)  # (B)
    ### BEGIN SOLUTION
    #: memory = ...  # (B, S, D)
    memory = model.encode(source, source_mask)  # (B, S, D)
    for _ in range(max_new_tokens):
        mask = course.look_ahead_mask(ids.shape[1])
        logits = model.decode(ids, memory, mask, source_mask)  # (B, T, V)
        best = logits[:, -1].argmax(-1)  # (B)
        best[ended] = 0
        ids = torch.cat([ids, best[:, None]], dim=1)
        ended = ended | (best == end)
        if ended.all():
            break
    return ids
    ### END SOLUTION


# %%
check("5.D", greedy_decode)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# The logits are (B, T, V), a row for each word that is there already. Which row scores
# the word that is not there yet?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `torch.cat([ids, best[:, None]], dim=1)` appends a column. Update `ended` after you
# have appended, or the end token gets lost. `tensor.all()` and `tensor.any()` differ.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# memory: encode once. Repeat: scores of decode at the last place; best word of each;
# padding for those that have ended; append; note who ended just now; leave the loop if
# all have.
# </details>

# %% [markdown] slide="subslide"
# ### Your code writes German
#
# Now put everything together. `fill` copies the weights of the translator into a
# Transformer that is built from **your** classes, part by part, by their names. It is
# your attention, your layers, your decoder and your loop that run then. Only the
# numbers were learned by somebody else.

# %% [markdown] slide="notes"
# **2 minutes.** Say: the same numbers, other code: ours of today.
#
# Ask: what has to be the same in two programs, so that one can use the weights of the
# other?
#
# Expect: "the names". Names and shapes, and what is computed with them.


# %% locked=true slide="skip"
def one_step(kind: type[nn.Module]) -> None:
    """What a step of training does, for a Transformer that took over the weights."""
    model = fill(kind(german.model.config), german.model)
    source, target = torch.randint(3, 300, (2, 16, 12))  # each (B, S)
    logits = model(source, target, None, course.look_ahead_mask(12))
    F.cross_entropy(logits.mT, target).backward()


mine.take("5.C", Transformer, step=one_step)
mine.take("5.D", greedy_decode)

# %%
translator = fill(mine.Transformer(german.model.config), german.model)


def translate(sentence: str) -> str:
    """English to German, word by word."""
    source = torch.tensor([lookup(sentence).ids])  # (B=1, S)
    ids = mine.greedy_decode(translator, source, None, START, END, max_new_tokens=24)
    return german.target.decode(ids[0])


print(translate(TIRED))
print(mine)

# %% [markdown] slide="skip"
# There it is. Translate some sentences of your own: change the next line, and run it as
# often as you like. The model knows a little language of everyday things. Try *The old
# woman gave the boy the book.*, or *Did the dog eat the cake?*, and exchange *animal*
# for *cat* or *dog* in the running sentence. Which pronoun do you expect for each? (If
# it doesn't know a word, it tells you which.)

# %% slide="skip"
print(translate("The dog did not cross the street because it was too tired."))

# %% [markdown] slide="slide"
# ## Where did *es* come from?
#
# Back to the question from the beginning. To find out whether a word matters, take it
# away and see what changes. We let the decoder write up to *weil*, and for the **one
# step** that writes the pronoun we forbid the cross-attention to look at one English
# word.

# %% [markdown] slide="notes"
# **5 minutes.** Ask, before you press: remember the map: *tired* 0.32, *street* 0.13,
# *animal* 0.12. Which word must be hidden for *es* to disappear?
#
# Expect: "tired".
#
# Say: it is *animal*, from 0.88 to 0.01. Then the twin sentence: which word must be
# hidden to lose *sie*? All say *street*. It changes nothing.

# %% [markdown] slide="skip"
# You have the tool for this: it is the mask of the cross-attention. It may be (T, S),
# with a row for each German word, so we set a single field to False, in the last row.
# The function below returns the probabilities of the three pronouns. Remember the map:
# *tired* had 0.32 of the attention, *street* 0.13, and *animal* 0.12. Which of the
# words must be hidden for *es* to disappear? Write down your guess.


# %% slide="skip"
@torch.no_grad()
def pronouns(sentence: str, begun: str, *hidden: str) -> dict[str, float]:
    """How likely er, es and sie come next, with some English words hidden."""
    source = torch.tensor([german.source.encode(sentence)])  # (1, S)
    written = torch.tensor([german.target.encode(begun)[:-1]])  # (1, T), without END
    T, S = written.shape[1], source.shape[1]
    may_look = torch.ones(T, S, dtype=torch.bool)
    places = ["start", *parted(sentence), "end"]
    for word in hidden:
        may_look[-1, places.index(word)] = False  # in this one step, and in no other
    memory = translator.encode(source)
    logits = translator.decode(written, memory, course.look_ahead_mask(T), may_look)
    odds = logits[0, -1].softmax(-1)  # (V,)
    return {word: odds[german.target.encode(word)[1]].item() for word in FORMS}


FORMS = ("er", "es", "sie")
BEGUN = "Das Tier überquerte die Straße nicht, weil"


def row(name: str, odds: dict[str, float]) -> None:
    """Print a line of the tables below."""
    print(f"{name:12}", *(f"{word} {share:.2f}  " for word, share in odds.items()))


# %% tags=["nbval-check-output"] slide="fragment"
row("all visible", pronouns(TIRED, BEGUN))
for word in ("animal", "cross", "street", "it", "too", "tired", "end"):
    row(f"no {word}", pronouns(TIRED, BEGUN, word))

# %% [markdown] slide="skip"
# It is *animal*. Without it, the probability of *es* falls from 0.88 to 0.01. (The rest
# goes to other words.) You may take any one of the others away, and *es* stays. That
# holds for *street*, with as much attention as *animal*, and for *tired*, with more
# than twice as much.
#
# Is the picture to blame, because it shows a mean? Look at the eight heads one by one,
# four in each of the two layers. Does any of them look at *animal* alone?

# %% slide="skip"
source = torch.tensor([german.source.encode(TIRED)])
written = torch.tensor([german.target.encode(BEGUN)[:-1]])
mask = course.look_ahead_mask(written.shape[1])
names = ["start", *parted(TIRED), "end"]
most = {}
for layer, maps in enumerate(
    course.cross_weights(translator, source, written, None, mask), 1
):
    for head, looks in enumerate(maps[0, :, -1], 1):
        most[layer, head] = names[looks.argmax()]
        print(f"layer {layer}, head {head}: {most[layer, head]:7} {looks.max():.2f}")
assert [most[1, head] for head in (2, 3, 4)] == ["tired", "street", "animal"]

# %% [markdown] slide="skip"
# One head of the first layer looks at *animal* and at hardly anything else, so the mean
# did hide something. But another looks at nothing but *street*, and *street* can be
# taken away with hardly any loss. Even the map of a single head tells where it looks,
# and not whether that is needed.
#
# But something is odd. If *tired* can be taken away, how can *wide* in its place lead
# to *sie*? Do the same with the twin sentence. Which word must be hidden now, so that
# *sie* is lost? Guess again, then run it.

# %% tags=["nbval-check-output"] slide="subslide"
row("all visible", pronouns(WIDE, BEGUN))
for word in ("animal", "cross", "street", "it", "too", "wide"):
    row(f"no {word}", pronouns(WIDE, BEGUN, word))

# %% [markdown] slide="notes"
# **3 minutes.** Ask: *street* is hidden and *sie* stays. Who else knows of the street?
#
# Expect: silence, then "the German sentence".
#
# Say: the decoder looks at two things, and *die Straße* stands in one of them, in what
# it has written. Change that, and the pronoun changes.

# %% [markdown] slide="skip"
# Hiding *street* changes nothing at all, and hiding *wide* brings *es* back, with 0.80.
# Put the two tables together. Without its adjective, either sentence gets *es*: as long
# as it sees the animal, this model bets on it. *wide* overrules the bet, while *tired*
# only agrees with it, so it seems that *tired* does nothing. Is that so? And where does
# the decoder learn that the street is a *sie*, if it may not look at *street*? It looks
# at two things, and the memory is only one of them. The other is its own words, and
# *die Straße* is among them. So put other words into its mouth. In the next cell the
# English is left as it is, but the decoder believes that it has written *den Fluss*
# (the river, an *er*) where it wrote *die Straße*; then *den Straße*, which is bad
# German, and *das Feld* (the field, an *es*). In the last row only the English changes.
# What will the pronouns be?

# %% tags=["nbval-check-output"] slide="skip"
row("no tired", pronouns(TIRED, BEGUN, "tired"))
row("no animal", pronouns(TIRED, BEGUN, "animal"))
row("neither", pronouns(TIRED, BEGUN, "animal", "tired"))
for begun in ("den Fluss", "den Straße", "das Feld"):  # not what the English says
    row(begun, pronouns(WIDE, f"Das Tier überquerte {begun} nicht, weil"))
row("Der Hund", pronouns(TIRED, "Der Hund überquerte die Straße nicht, weil"))
row("dog", pronouns(TIRED.replace("animal", "dog"), BEGUN))

# %% [markdown] slide="skip"
# Hide *animal* and *tired* together, and the model says *sie*, with 0.81. So *tired*
# did matter, once *animal* was gone, and an experiment that takes away one word at a
# time could not have shown it. With *den Fluss* in its mouth the decoder says *er*,
# although nobody mentioned a river in English, and so it does with *den Straße*. It
# takes the street's gender from the German article, then, but it does not believe every
# article: with *das Feld* it stays with *sie*. For the animal it is the other way
# round. If it has written *Der Hund*, a masculine noun, it still says *es*, with 0.83;
# put *dog* into the English, and it says *er*, with 0.88. So here *es* depends on the
# English noun and *sie* mostly on a German article, and *wide* decides between them. No
# map has told you that. And where a decoder relies on its own words, a wrong one leads
# to the next: that is the danger in exposure bias.
#
# All this is one sentence and one set of weights. Is it the same for *too narrow* and
# *too hungry*? For *The dog did not cross the river*? Change the next cell, with the
# German beginning that `translate` writes.

# %% slide="skip"
sentence = "The animal did not cross the street because it was too hungry."
print(translate(sentence))
row("all visible", pronouns(sentence, BEGUN))
row("no animal", pronouns(sentence, BEGUN, "animal"))

# %% [markdown] slide="slide"
# ## Your Transformer learns
#
# Now take a Transformer of your classes with initial weights, and a task that you can
# check at a glance: read a few letters and write them backwards.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: what will the map of the cross-attention look like, once it can
# write words backwards?
#
# Expect: the anti-diagonal, from those who remember lesson 02.
#
# Say: find teacher forcing in the training loop: `target[:, :-1]` goes in,
# `target[:, 1:]` is wanted.

# %% [markdown] slide="skip"
# Find teacher forcing in the loop below: `target[:, :-1]`, the words without the last
# one, goes in, and `target[:, 1:]`, the same words one place further, is wanted. The
# loss is the cross-entropy of lesson 01, and `ignore_index=0` leaves the padding out of
# it. Lesson 06 takes this loop apart.


# %% locked=true slide="skip"
def train(model: nn.Module, pairs, masks, steps: int) -> list[float]:
    """Teach a model; return its loss at each place of the target in the last steps."""
    adam = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98), eps=1e-9)
    last, shown = [], bar.progress(steps, "training")
    for step in range(steps):
        adam.param_groups[0]["lr"] = 3e-3 * min(1, step / 100, 2 - 2 * step / steps)
        source, target = pairs(64)
        given, wanted = target[:, :-1], target[:, 1:]  # (B, T)
        logits = model(source, given, *masks(source, given))  # (B, T, V)
        each = F.cross_entropy(logits.mT, wanted, ignore_index=0, reduction="none")
        adam.zero_grad()
        (each.sum() / (wanted != 0).sum()).backward()
        adam.step()
        last = [*last[-9:], each.mean(0).detach()]
        shown.update()
    shown.close()
    return torch.stack(last).mean(0).tolist()


# %% slide="skip"
def both_masks(source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Hide the padding of the source; hide padding and future of the target."""
    return course.padding_mask(source), course.target_mask(target)


_ = torch.manual_seed(5)
small = {"d_model": 48, "num_heads": 4, "d_ff": 96, "num_layers": 1, "dropout": 0.0}
config = course.TransformerConfig(27, 29, **small, max_length=16, norm_first=True)
backwards = mine.Transformer(config)
train(backwards, letters_backwards, both_masks, steps=600)
_ = backwards.eval()

# %% [markdown] slide="skip"
# Now let it write three real words backwards. Two of them are padded, and each ends
# when it is done. (27 is the id of the start, 28 that of the end.)


# %%
examples = to_ids(["decoder", "drawer", "star"])
written = mine.greedy_decode(
    backwards, examples, course.padding_mask(examples), 27, 28, 8
)
print(written)
print(to_words(written))

# %% [markdown] slide="subslide"
# How often is it right, on 200 newly drawn rows of letters? And where did it look? For
# the first letter that it writes, it needs the last one that it has read. Draw the map
# of its cross-attention in the air before you run the cell.

# %% slide="skip"
source, target = letters_backwards(200)
real = course.padding_mask(source)
ids = decoding.greedy_decode(backwards, source, real, 27, 28, 8)
ids = F.pad(ids, (0, target.shape[1] - ids.shape[1]))
exact = (ids == target).all(1).float().mean().item()
print(f"exactly right: {exact:.0%}")

# %% slide="fragment"
word = "decoder"
source = to_ids([word])
target = decoding.greedy_decode(backwards, source, None, 27, 28, 8)
letters = list(to_words(target)[0]) + ["end"]
given = target[:, :-1]
(weights,) = course.cross_weights(backwards, source, given, *both_masks(source, given))
shares = weights[0].mean(0).detach()  # (T, S), mean of the heads
show_figure(
    draw.cross_attention(shares, list(word), letters),
    "Cross-attention of a model that writes backwards, mean of four heads: a row for "
    "each letter that it writes next, a column for each letter that it has read. The "
    "dark fields form the anti-diagonal.",
)
assert exact > 0.9
assert (shares[:7].argmax(-1) - torch.arange(6, -1, -1)).abs().float().mean() < 1

# %% [markdown] slide="notes"
# **2 minutes.** Ask: nobody told it where to look. Where did it find that out?
#
# Expect: "from the examples". From the loss, through the weights of the attention.
#
# Say: here the map and the task agree. After the experiment with *es* you know that
# this is a lucky case.

# %% [markdown] slide="slide"
# ## Bugs from the wild: a loss that is too good
#
# In published decoders both masks often default to `None`. Whoever forgets one gets no
# error, and perhaps a wonderful loss. (Two more bugs wait under *Going further*.)

# %% [markdown] exercise="5.E"
# In this task the target has **nothing** to do with the source: each of its words is
# drawn at random from 11. No honest model can reach a loss below the entropy of that
# choice. Compute this `floor` from the 11, to three decimals or more; a measured loss
# only comes near it. Then explain the losses that are printed: which argument of the
# model's `forward` was `forgotten`? Store its name as a string, spelt as it is there.

# %% [markdown] slide="notes"
# **3 minutes.** Say: this one has the best loss you will ever see.
#
# Ask: target words are drawn at random from eleven. How low can an honest loss get?
#
# Expect: "zero, if it trains long enough". It is the logarithm of 11, whatever one
# does. What lies below it is a leak.


# %% locked=true slide="skip"
def unrelated_pairs(count: int) -> tuple[Tensor, Tensor]:
    """Draw source and target words without asking each other: 1 to 11, start is 12."""
    source, target = torch.randint(1, 12, (2, count, 6))  # each (B, 6)
    start = torch.full((count, 1), 12)
    return source, torch.cat([start, target], dim=1)


class Trusting(course.Transformer):
    """As published: both masks have a default."""

    def forward(self, source, target, source_mask=None, target_mask=None):
        """(B, S), (B, T) -> logits (B, T, V)."""
        return super().forward(source, target, source_mask, target_mask)


# %%
_ = torch.manual_seed(5)
config = course.TransformerConfig(13, 13, **small)
suspicious = train(Trusting(config), unrelated_pairs, lambda *ids: (), steps=300)
print("loss at each place:", *(f"{loss:.2f}" for loss in suspicious))
print(f"mean: {sum(suspicious) / 6:.2f}")

# %% exercise="5.E"
### BEGIN SOLUTION
floor = math.log(11)
forgotten = "target_mask"
### END SOLUTION

# %%
check("5.E", floor, forgotten)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# The right word has probability 1/11, whatever you know. What is minus the logarithm of
# that? And which of the six places is different: what stands after it?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The word wanted at place 1 goes in at place 2. Who may look there?
# </details>

# %% slide="subslide"
_ = torch.manual_seed(5)
honest = train(Trusting(config), unrelated_pairs, both_masks, steps=300)
show_figure(
    draw.losses(
        {"with both masks": honest, "as called above": suspicious}, math.log(11)
    ),
    "Loss at the six places of the target. With both masks it lies at the floor of "
    "2.398 everywhere. As called above it is nearly 0 at the first five places and at "
    "the floor at the sixth.",
)
assert abs(sum(honest) / 6 - math.log(11)) < 0.1
assert sum(suspicious[:5]) / 5 < 0.5 and abs(suspicious[5] - math.log(11)) < 0.2

# %% [markdown]
# At five places the answer stood one place to the right, and the model learned to copy
# it. Only the last place has no future. So this is what the causal mask was for. When
# such a model has to write by itself, there is nothing to copy from, and it fails. If a
# loss looks too good, ask what the best honest loss could be.

# %% [markdown] slide="slide"
# ## Going further
#
# From here on everything is optional. You have the whole Transformer; what follows
# hunts two more bugs, counts its parameters, finds BERT, GPT and T5 in it, and compares
# it with torch's.

# %% [markdown] slide="slide"
# ### Who reads the padding?

# %% [markdown] exercise="5.F"
# A published training loop calls its model with both masks, but inside the model the
# source's mask ends at the encoder, and the decoder never gets it. What does that cost?
# Measure it: which share of the cross-attention falls on padding, averaged over
# sequences, heads and queries?


# %% exercise="5.F"
def mass_on_padding(weights: Tensor, source_mask: Tensor) -> float:
    """Average, over all queries, the sum of their weights on padding.

    Args:
        weights: (B, H, T, S), each row sums to 1
        source_mask: (B, 1, 1, S), boolean, True = a real word

    Returns:
        A number from 0 to 1.
    """
    ### BEGIN SOLUTION
    on_padding = weights * ~source_mask  # (B, H, T, S)
    return on_padding.sum(-1).mean().item()
    ### END SOLUTION


# %%
check("5.F", mass_on_padding)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# For one query: which of its weights count, and what do you do with them? Then: how do
# you get from one query to all?
# </details>


# %% locked=true
class Deaf(course.Transformer):
    """As published: the source's mask ends at the encoder."""

    def forward(self, source, target, source_mask, target_mask):
        """(B, S), (B, T) -> logits (B, T, V)."""
        memory = self.encode(source, source_mask)
        return self.decode(target, memory, target_mask)


# %%
_ = torch.manual_seed(5)
config = course.TransformerConfig(27, 29, **small)
models = {"as published": Deaf(config), "with the mask": course.Transformer(config)}
source = torch.randint(1, 27, (8, 6))  # (B, S)
source[:, 3:] = 0  # three of six are padding
target = torch.randint(1, 27, (8, 5))  # (B, T)
maps = {
    name: course.cross_weights(model, source, target, *both_masks(source, target))[0]
    for name, model in models.items()
}

# %%
show_figure(
    draw.two_sides(
        {name: weights[0].mean(0) for name, weights in maps.items()}, real=3
    ),
    "Cross-attention of five written words to six read ones, of which three are "
    "padding. As published, about as much weight lies on padding as on words. With the "
    "mask, the three columns of padding are empty.",
)

# %%
for name, weights in maps.items():
    measured = mass_on_padding(weights, course.padding_mask(source))
    print(f"{name:14} by your function: {measured:.3f}")

# %% [markdown] slide="slide"
# ### Keys and values from the wrong side

# %% [markdown] exercise="5.G"
# In a wrong layer the keys, the values or both come from the decoder instead of the
# memory. If both sentences have the same length, no shape gives it away. Write a test:
# `reads_memory(layer)` gives a layer numbers of your choice, and returns True only if
# the layer reads memory as attention does. Two facts are enough, one about **another**
# memory, and one about the **order** of its words.


# %% exercise="5.G"
def reads_memory(layer) -> bool:
    """Test the cross-attention of a decoder layer, which runs here without masks.

    Args:
        layer: takes x (B, T, 8) and memory (B, S, 8), returns (B, T, 8). Choose T = S:
            some wrong layers do not run otherwise.

    Returns:
        True if it passes, False if something is wrong with it.
    """
    x, memory = torch.randn(2, 5, 8), torch.randn(2, 5, 8)
    ### BEGIN SOLUTION
    output = layer(x, memory)
    listens = not torch.allclose(layer(x, torch.randn(2, 5, 8)), output, atol=1e-5)
    shuffled = memory[:, torch.tensor([3, 0, 4, 2, 1])]  # keys and values move together
    return listens and torch.allclose(layer(x, shuffled), output, atol=1e-5)
    ### END SOLUTION


# %%
check("5.G", reads_memory)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Attention is a soft dictionary. If you shuffle the entries of a dictionary, keys and
# values together, what happens to the answers?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `memory.flip(1)` turns the order of the words around. Compare with `torch.allclose`
# and some room (`atol=1e-5`), for sums in another order round differently.
# </details>

# %% locked=true
_ = torch.manual_seed(5)
right = course.DecoderLayer(8, 2, 16, dropout=0.0)


class WrongSide(nn.Module):
    """Cross-attention with keys from the memory and values from the decoder."""

    def forward(self, query, key, value, mask=None):
        """(B, T, D) three times -> (B, T, D)."""
        return right.cross_attention(query, key, query, mask)


wrong = course.DecoderLayer(8, 2, 16, dropout=0.0)
wrong.cross_attention = WrongSide()


# %%
def verdict(layer) -> bool:
    """What your test says of a layer that works in float32."""
    return reads_memory(lambda x, m: layer(x.float(), m.float(), None))


for name, layer in (("right layer", right), ("wrong side", wrong)):
    print(f"{name:12} {verdict(layer)}")

# %% [markdown] slide="slide"
# ### How large is it?

# %% [markdown] exercise="5.H"
# How many numbers does a Transformer learn? Don't build the model or parts of it, for
# the check notices that: work it out from the numbers in `config` alone. Every linear
# layer has a matrix and a bias, a layer norm a gain and a bias. Positions are computed,
# not learned. Take post-norm, where the stacks end without a further norm. Begin with
# one attention on paper.


# %% exercise="5.H"
def count_parameters(config: course.TransformerConfig) -> int:
    """Count the learned numbers of a post-norm Transformer.

    Args:
        config: source_vocab, target_vocab, d_model, num_heads, d_ff, num_layers, ...

    Returns:
        What sum(p.numel() for p in model.parameters()) would give.
    """
    d, f = config.d_model, config.d_ff
    ### BEGIN SOLUTION
    #: attention = ...
    #: feed_forward = ...
    #: norm = ...
    attention = 4 * (d * d + d)  # W_q, W_k, W_v, W_o
    feed_forward = (d * f + f) + (f * d + d)
    norm = 2 * d
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    embeddings = (config.source_vocab + config.target_vocab) * d
    final_layer = d * config.target_vocab + config.target_vocab
    layers = config.num_layers * (encoder_layer + decoder_layer)
    return embeddings + layers + final_layer
    ### END SOLUTION


# %%
check("5.H", count_parameters)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# How many numbers does `nn.Linear(3, 5)` hold? Does a second head need a further
# matrix, or does it take its share of one?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# One layer each first: boxes of the figure, from bottom to top. Then times num_layers,
# plus two embeddings, plus the final layer.
# </details>

# %%
config = course.TransformerConfig(8000, 10_000, 96, 6, 192, 2)
print(f"by your formula {count_parameters(config):,}")
numel = sum(p.numel() for p in course.Transformer(config).parameters())
print(f"by counting     {numel:,}")

# %% [markdown]
# Your formula counts the layers of real models, too. Here is a layer of the pretrained
# encoder of lesson 04, and a layer of the course's small GPT-2. Beside each stands an
# *encoder* layer of ours with the same width, and with d_ff four times that.

# %% tags=["nbval-check-output"]
from transformers import GPT2LMHeadModel

bert = pretrained.load_encoder()
with pretrained.quiet():
    gpt2 = GPT2LMHeadModel.from_pretrained(pretrained.path("gpt2")).eval()
layers = {"BERT's kind": bert.encoder.layer[0], "GPT-2's kind": gpt2.transformer.h[0]}
for name, one in layers.items():
    d = next(one.parameters()).shape[0]
    ours = sum(p.numel() for p in EncoderLayer(d, 4, 4 * d).parameters())
    counted = sum(p.numel() for p in one.parameters())
    print(
        f"{name:13} d_model {d}: {counted:,} parameters, like ours: {counted == ours}"
    )

# %% [markdown]
# Both layers have exactly the parts of an *encoder* layer, although GPT is called a
# decoder. Keep that in mind for what follows. And how large is the model of the paper?

# %% tags=["nbval-check-output"]
with torch.device("meta"):  # sizes only, nothing is stored
    base = course.Transformer(course.TransformerConfig(37_000, 37_000))
million = sum(p.numel() for p in base.parameters()) / 1e6
shared = 2 * 37_000 * 512 / 1e6
print(f"the paper's base model: {million:.1f} million, three tables of words apart")
print(f"with one table for all three: {million - shared:.1f} million")

# %% [markdown]
# The paper reports 65 million for its base model, near the second number: it shares one
# table between both embeddings and the final layer. (Vaswani et al. 2017, section 3.4
# and table 3; about 37,000 tokens, shared by both languages.)

# %% [markdown] slide="slide"
# ### Three readings of one figure
#
# The models you hear about are parts of this figure. BERT keeps the left half and
# reads. GPT keeps the right half and writes; it has nothing to look at but its own
# words, so its cross-attention goes. T5 keeps both.

# %% slide="subslide"
show_figure(
    draw.readings(),
    "The architecture three times. T5: all of it. BERT: the encoder in black, the "
    "decoder in pale grey. GPT: the decoder in black, but without cross-attention and "
    "its add and norm; the encoder in pale grey.",
)

# %% [markdown]
# The drawing shows which blocks are kept, and not every detail of these models. T5 and
# GPT-2 put the norms before the sub-layers, T5 has relative positions instead of
# position vectors that are added, and BERT has an output layer of its own for the task
# that it was trained on. Some drawings of GPT show a decoder layer *with*
# cross-attention. Ask the checkpoint: here is a GPT-2, and the names of its parameters.

# %% tags=["nbval-check-output"]
names = [name for name, _ in gpt2.named_parameters()]
print("parameters with 'cross' in their name:", sum("cross" in name for name in names))
print(*(name for name in names if ".h.0." in name), sep="\n")

# %% [markdown]
# What remains of a decoder layer without its cross-attention has the parts of an
# encoder layer. So what is the difference between BERT and GPT? Measure it: on which of
# the words that went in does each output depend? `draw.reach` asks autograd, with one
# backward pass for each output: where the gradient of the output at place t with
# respect to the vector of word s is exactly zero, no change of that word can reach it.
# There are two real pretrained models, and between them the model that writes
# backwards.


# %%
def words_of(name: str, text: str) -> tuple[Tensor, list[str]]:
    """Ids (1, S) and the pieces of text they stand for."""
    tokenizer = pretrained.load_tokenizer(name)
    ids = tokenizer(text, return_tensors="pt").input_ids
    return ids, [tokenizer.decode([one]).strip() for one in ids[0].tolist()]


text = "return the name of the file"
bert_ids, bert_words = words_of("encoder", text)
gpt_ids, gpt_words = words_of("gpt2", text)
source, target = to_ids(["star"]), torch.tensor([[27, 18, 1, 20, 19]])
masks = both_masks(source, target)

# %%
maps = {
    "encoder only (BERT's kind)": (
        draw.reach(
            lambda: bert(bert_ids).last_hidden_state, bert.get_input_embeddings()
        ),
        bert_words, bert_words,
    ),
    "encoder-decoder (5.D)": (
        draw.reach(
            lambda: backwards(source, target, *masks),
            backwards.encoder.embedding, backwards.decoder.embedding,
        ),
        ["start", *"rats"], [*"star", "start", *"rats"],
    ),
    "decoder only (GPT-2)": (
        draw.reach(lambda: gpt2(gpt_ids).logits, gpt2.get_input_embeddings()),
        gpt_words, gpt_words,
    ),
}  # fmt: skip

# %% slide="subslide"
show_figure(
    draw.influence(maps),
    "Three tables, dark where an output depends on a word that went in. Encoder only: "
    "all dark. Encoder-decoder: dark for all four source letters, and a lower triangle "
    "for the letters written so far. Decoder only: a lower triangle.",
)
assert (maps["encoder only (BERT's kind)"][0] > 0).all()
assert (maps["encoder-decoder (5.D)"][0][:, :4] > 0).all()
assert not (maps["encoder-decoder (5.D)"][0][:, 4:] > 0).triu(1).any()
assert torch.equal(
    maps["decoder only (GPT-2)"][0] > 0, torch.ones(2 * [len(gpt_words)]).tril() > 0
)

# %% [markdown]
# The same parts, and another mask. In BERT every output knows the whole sentence. In
# GPT each knows only what came before, and above the diagonal the gradient is exactly
# zero. In the middle, cross-attention sees all of the source and self-attention only
# the past.

# %% [markdown] exercise="5.J"
# Suppose somebody tells you: "An LLM is just a stack of Transformer encoder and decoder
# layers." Explain to them, with the figure and the three tables: which parts do BERT,
# GPT and T5 keep, which mask does each need, and for which kind of task is each made?
# Turn a decoder layer into a GPT block: what must go, what must stay? Write eight to
# ten sentences, and correct the quote.

# %% [markdown] answer="5.J"
# ### BEGIN SOLUTION
# **Model answer.** The figure has two halves and one bridge. BERT keeps the left half:
# self-attention and feed-forward, no look-ahead mask, only a padding mask. Every output
# depends on every word, as the first table shows, so it suits tasks in which the whole
# text is there: classifying, searching, tagging. It can't write word by word, because
# it was never trained to predict from the past alone. GPT keeps the right half without
# the bridge. To turn a decoder layer into a GPT block, the cross-attention, its
# residual connection and its norm must go, for there is no memory to look at. The
# look-ahead mask must stay: without it, training would only teach copying. The prompt
# takes the place of the source; it is simply what was "written" before. T5 keeps all
# three: its encoder reads the source without a look-ahead mask, its decoder writes with
# one, and cross-attention joins them. It suits tasks that turn one text into another,
# such as translation or summaries. So the quote mixes up the readings: the large
# language models of the GPT kind are decoder-only, a stack of one kind of layer; they
# contain neither encoder layers nor cross-attention.
#
# **Rubric (4 points).** 1: parts kept by all three models. 1: masks of all three. 1: a
# GPT block from a decoder layer (cross-attention with its add & norm goes, look-ahead
# mask stays). 1: fitting tasks, and the quote corrected to decoder-only.
# ### END SOLUTION

# %% [markdown] slide="slide"
# ### What the real libraries do
#
# torch has all of this as `nn.Transformer`. Copy its weights into the course's and feed
# both the same sentences. Two things to know: its boolean masks say *blocked* where
# ours say *may attend*, and it puts one more norm on top of each stack, also in
# post-norm.

# %%
config = course.TransformerConfig(27, 29, 48, 4, 96, 2, 16, dropout=0.0)
theirs = nn.Transformer(48, 4, 2, 2, 96, dropout=0.0, batch_first=True).double()
theirs.encoder.norm = theirs.decoder.norm = None  # as in the paper
source, target = to_ids(["decoder", "star"]), to_ids(["redo", "rats"])
real, future = course.padding_mask(source), course.look_ahead_mask(4)


def by_torch(model: nn.Module) -> Tensor:
    """Torch's Transformer between the embeddings and the final layer of a model."""
    x = model.encoder.positions(model.encoder.embedding(source))  # (B, S, D)
    y = model.decoder.positions(model.decoder.embedding(target))  # (B, T, D)
    padded = ~real[:, 0, 0]  # (B, S), True = blocked
    blocked = {"src_key_padding_mask": padded, "memory_key_padding_mask": padded}
    return model.final_layer(theirs(x, y, tgt_mask=~future, **blocked))


# %%
ours = course.Transformer(config).double()
before = ours(source, target, real, future)
print("the same before:", torch.allclose(before, by_torch(ours), atol=1e-9))
course.copy_weights(theirs, ours)
after = ours(source, target, real, future)
print("the same after: ", torch.allclose(after, by_torch(ours), rtol=0, atol=1e-9))

# %% [markdown] slide="slide"
# ## What you can do now
#
# You can build a decoder layer, a decoder and a Transformer, and say of each of the
# three attentions where its queries, keys and values come from, and which mask it
# needs. You can let a model write greedily, for a batch, and stop at the right time.
# You know what teacher forcing is, why it needs the causal mask, and what exposure bias
# means when the teacher has gone. You have asked a translator by experiment where one
# of its words came from, instead of believing a map. And you notice a loss that is too
# good, attention on padding, and a layer that does not listen.
#
# What you have not done yet is to train it on language. The masks were lent to you, and
# so was the training loop. In lesson 06 you build both, and your Transformer learns to
# translate.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: each of you draws the decoder layer from memory, with Q, K, V and
# the masks, and compares with a neighbour.
#
# Expect: V from the decoder, and the causal mask in the middle.
#
# Say: next time you build the masks, and your model learns German. Then take their
# questions.

# %% [markdown] slide="skip"
# **References.** Vaswani et al. 2017, *Attention Is All You Need* (arXiv 1706.03762),
# sections 3.1 to 3.4. Devlin et al. 2019, *BERT* (arXiv 1810.04805). Radford et al.
# 2019, *Language Models are Unsupervised Multitask Learners* (GPT-2). Raffel et al.
# 2020, *T5* (arXiv 1910.10683). Williams and Zipser 1989, *A Learning Algorithm for
# Continually Running Fully Recurrent Neural Networks*, for teacher forcing; Ranzato et
# al. 2015 (arXiv 1511.06732), for exposure bias. Jain and Wallace 2019, *Attention is
# not Explanation* (arXiv 1902.10186), and the reply by Wiegreffe and Pinter 2019,
# *Attention is not not Explanation* (arXiv 1908.04626). Rush et al., *The Annotated
# Transformer*, for the same model beside the paper's text.
