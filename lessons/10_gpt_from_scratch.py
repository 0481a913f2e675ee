# %% [markdown] slide="slide"
# # 10 GPT from scratch: a decoder learns to write
#
# **What is left of the Transformer when there is nothing to translate?**
#
# You need: lessons 05 to 07. Time: {minutes}. Run in one go, the notebook takes
# {run time} on one core, most of it for the trainings.

# %% [markdown] slide="subslide"
# At the end of this lesson you can
#
# - build a GPT, and load GPT-2's own weights into it;
# - say what the shift in its loss does, and what happens without it;
# - cut a text into byte pairs;
# - write with a cache, so that no token is read twice;
# - tell by measurement where attention beats recurrence, and where it does not.

# %% [markdown] slide="notes"
# 45 minutes: why, and the counting model (5), block and GPT (10), the shift and the
# copying model (7), one merge by hand (4), the cache with a pencil (7), the contest and
# its honest result (5), recall and the two heads (7). Start both trainings before the
# break. Leave 10.E, 10.G and 10.H for the lab. Usual trouble: the shift (who foresees
# whom?), and the mask of several new tokens under a cache.

# %%
import copy
import math
import time
from itertools import pairwise
from string import ascii_letters

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import pretrained, show, training
from helpers.checks import check
from helpers.corpora.sonnets import load_text, split_text
from helpers.experiments import character_contest as contest
from helpers.experiments import character_models as chars
from helpers.experiments import recall
from helpers.figures import gpt as draw
from helpers.figures import show_figure
from helpers.models import gpt as course
from helpers.models.attention import attention
from helpers.models.layers import FeedForward
from helpers.models.masks import look_ahead_mask
from helpers.models.multi_head import MultiHeadAttention, merge_heads, split_heads
from helpers.models.recurrent import CharacterModel
from helpers.models.transformer import DecoderLayer
from helpers.student.own_parts import OwnParts
from helpers.text import byte_pairs
from helpers.text.characters import Characters

_ = torch.manual_seed(10)

# %% [markdown]
# **Letters in shape comments**: `B` batch, `T` query length, `S` key length, `D`
# d_model, `H` heads, `K` width of a head, `V` vocabulary. A mask is boolean, and True
# means "may attend".

# %% [markdown] slide="slide"
# ## Why: a text asks its own questions
#
# A translator learns from pairs, and someone has to write them. A text alone is enough
# to learn to write: hide what comes next, and ask. Every place of it is a question, and
# its answer stands right behind it.

# %% tags=["nbval-check-output", "contest"]
train_text, held_out_text = split_text(load_text())
for place in range(4, 9):
    print(repr(train_text[:place]), "→", repr(train_text[place]))
print(f"... {len(train_text) - 1:,} questions, and nobody had to label one")

# %% [markdown]
# This is **causal language modelling**, and GPT is a decoder that does it. There is no
# source, so there is nothing to encode: the left half of lesson 05's figure goes, and
# so does every look at it. BERT (lesson 09) hides words in the middle and looks at both
# sides. GPT sees the left side only, and that is why it can write.

# %% [markdown] slide="slide"
# ## By hand: a model that counts
#
# The simplest answer: look at the last character only, and count what followed it. How
# good is that? We measure **bits per character** on held-out sonnets, as in lesson 07:
# the mean of $-\log_2 p$ of the right answer. Less is better.

# %% tags=["nbval-check-output", "contest"]
characters = Characters.of(load_text())
ids, held_out = characters.encode(train_text), characters.encode(held_out_text)
counts = torch.ones(len(characters), len(characters))  # 1, so that none is impossible
counts.index_put_((ids[:-1], ids[1:]), torch.tensor(1.0), accumulate=True)
chances = counts / counts.sum(1, keepdim=True)  # (last, next)
no_idea = math.log2(len(characters))
pair_bits = -chances[held_out[:-1], held_out[1:]].log2().mean().item()
show("bits without any idea", no_idea, digits=2)
show("bits by counting pairs", pair_bits, digits=2)

# %% [markdown]
# These two numbers are the yardstick for everything below. A model that needs more than
# the second has not even learned to count pairs.

# %% [markdown] slide="slide"
# ## The block
#
# $$x \leftarrow x + \mathrm{Attention}(\mathrm{norm}_1(x)) \qquad
# x \leftarrow x + \mathrm{FFN}(\mathrm{norm}_2(x))$$
#
# A GPT block looks back, then thinks. Both sublayers are pre-norm: the norm stands
# before them, and the way past them is free. No token may see a later one, **ever**, so
# the block makes its own mask.

# %% [markdown] exercise="10.A"
# Build it. The course's attention takes (query, key, value, mask) and returns one
# tensor: it keeps the weights to itself. Dropout belongs on what each sublayer adds.


# %% exercise="10.A"
class GPTBlock(nn.Module):
    """Look back, then think.

    Args:
        d_model, num_heads, d_ff: as in lesson 05
        dropout: share of what each sublayer adds that is dropped in training
    """

    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.feed_forward = FeedForward(d_model, d_ff, "gelu_tanh")  # GPT-2's GELU
        ### BEGIN SOLUTION
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Give every token a vector that knows the tokens before it.

        Args:
            x: (B, T, D)

        Returns:
            (B, T, D)
        """
        ### BEGIN SOLUTION
        y = self.norm1(x)
        mask = look_ahead_mask(x.shape[1])  # (T, T)
        x = x + self.dropout(self.attention(y, y, y, mask))
        return x + self.dropout(self.feed_forward(self.norm2(x)))
        ### END SOLUTION


# %%
check("10.A", GPTBlock)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Draw the way of one vector through the block. At which two places is something added
# to it, and what was it when it came in?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `look_ahead_mask(length)` is lesson 06's. Queries, keys and values all come from the
# same normalised vectors.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# normalise; attend to yourself under the mask; drop out; add to what came in.
# Normalise that; feed forward; drop out; add.
# </details>

# %%
x = torch.randn(2, 5, 12)  # (B, T, D)
block = GPTBlock(12, 3, 48)
changed = x.clone()
changed[:, 3] = torch.randn(12)  # another token at place 3
moved = (block(changed) - block(x)).abs().amax((0, 2))  # (T)
print("places that notice:", (moved > 1e-6).tolist())

# %% [markdown] exercise="10.B" slide="slide"
# A published figure explains GPT with the decoder layer of 2017, the look at the source
# and all. Here are the parts of lesson 05's layer. Which two have to go before it is a
# GPT block? Give their names as a tuple, in the order in which they are printed.

# %% locked=true tags=["nbval-check-output"]
layer = DecoderLayer(d_model=12, num_heads=3, d_ff=48, norm_first=True)
print(*(name for name, _ in layer.named_children()), sep="\n")

# %% exercise="10.B"
### BEGIN SOLUTION
must_go = ("cross_attention", "norm2")  # the look at the source, and its norm
### END SOLUTION

# %%
check("10.B", must_go)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# Which sublayer needs a second text? And which norm stands beside it?
# </details>

# %% [markdown] slide="slide"
# ## The whole model, and one table for two jobs
#
# Ids become vectors by looking up rows of a table. At the end a vector has to become a
# score for each id. GPT-2 uses **the same table** again: the score of a token is the
# product of the vector with that token's row. Take a pencil:

# %% tags=["nbval-check-output"]
table = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])  # (V=3, D=2)
last = torch.tensor([0.5, 1.0])  # what the blocks made of the text, (D)
show("scores", table @ last)

# %% [markdown]
# The rows 1 and 2 are tokens that this text could go on with, row 0 fits less. The
# table gets gradients from both ends. These are **tied** embeddings.

# %% [markdown] exercise="10.C"
# Build GPT. Positions are a table as well, learned, not computed: row 0 for the first
# token. Their sum goes through dropout, then the blocks, then a last norm. Use the
# course's `course.GPTBlock`, which takes the same arguments as yours.


# %% exercise="10.C"
class GPT(nn.Module):
    """Ids in, a score for every next token out.

    Args:
        config: vocab_size, max_length, d_model, num_heads, d_ff, num_layers, dropout
    """

    def __init__(self, config: course.GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = nn.Embedding(config.max_length, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.norm = nn.LayerNorm(config.d_model)
        # Beside these: layers, an nn.ModuleList of num_layers blocks.
        ### BEGIN SOLUTION
        self.layers = nn.ModuleList(
            course.GPTBlock(
                config.d_model, config.num_heads, config.d_ff, config.dropout
            )
            for _ in range(config.num_layers)
        )
        ### END SOLUTION
        self.apply(course.initialise)  # small random numbers, see below

    def forward(self, ids: Tensor) -> Tensor:
        """Score the next token at every place.

        Args:
            ids: (B, T), T at most max_length

        Returns:
            logits, (B, T, V); no layer but those of `__init__` is needed for them
        """
        ### BEGIN SOLUTION
        places = torch.arange(ids.shape[1], device=ids.device)  # (T)
        x = self.embedding(ids) + self.positions(places)  # (B, T, D)
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x) @ self.embedding.weight.T  # (B, T, V)
        ### END SOLUTION


# %%
check("10.C", GPT)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# A row of the table is a token's vector. How do you multiply one vector with all rows
# at once? Look at the cell with the pencil, and mind the axes.
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `nn.Embedding` keeps its table in `.weight`, (V, D). `torch.arange` counts places.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# look up tokens; look up places 0, 1, ...; add; drop out; block after block; last norm;
# product with the turned table.
# </details>

# %%
config = course.GPTConfig(vocab_size=61, max_length=32, d_model=48, num_layers=2)
text = ids[:33][None]  # (B=1, T + 1)
print(tuple(GPT(config)(text[:, :-1]).shape))  # a score for each of 61 characters

# %% [markdown]
# Why the small numbers? A table that also scores must not shout. The first loss of a
# good start is that of a model without any idea, $\ln 61 = 4.11$. With the numbers that
# `nn.Embedding` draws by itself it looks like this:

# %%
quiet, loud = course.GPT(config), course.GPT(config)
_ = nn.init.normal_(loud.embedding.weight)  # nn.Embedding's own: N(0, 1)
for name, model in (("small numbers", quiet), ("nn.Embedding's own", loud)):
    print(f"{name}: first loss {contest.next_token_loss(model, text).item():.2f}")
assert abs(contest.next_token_loss(quiet, text).item() - math.log(61)) < 0.2
assert contest.next_token_loss(loud, text).item() > 6

# %% [markdown]
# How much does tying save? Count for OpenAI's smallest GPT-2: 12 blocks, width 768,
# 50,257 tokens. On torch's "meta" device only sizes exist.

# %% tags=["nbval-check-output"]
with torch.device("meta"):
    gpt2 = course.GPT(course.GPTConfig(50_257, 1024, 768, 12, 12))
total = sum(p.numel() for p in gpt2.parameters())
table = gpt2.embedding.weight.numel()
print(f"{total:,} parameters, of which {table:,} are the table")
print(f"with a second table: {total + table:,}, {table / total:.0%} more")

# %% [markdown] slide="slide"
# ## The loss, and the shift in it
#
# Row *t* of the logits has seen the tokens up to *t*. It is asked for token *t + 1*. So
# the last row is asked nothing, and the first token is never asked for. The loss is the
# mean over all questions.

# %% tags=["nbval-check-output"]
piece = "frost"
print("reads:     ", *piece[:-1])
print("should say:", *piece[1:])

# %% [markdown] exercise="10.D"
# Write the loss. It gets the logits of a whole text, and the same text.


# %% exercise="10.D"
def language_model_loss(logits: Tensor, ids: Tensor) -> Tensor:
    """Cross-entropy of the next token, in nats.

    Args:
        logits: (B, T, V), row t was computed from ids up to and with place t
        ids: (B, T)

    Returns:
        A number: the mean over all places that have a next token, and over all texts.
    """
    ### BEGIN SOLUTION
    foreseen, came = logits[:, :-1], ids[:, 1:]  # (B, T - 1, V), (B, T - 1)
    return F.cross_entropy(foreseen.transpose(1, 2), came)
    ### END SOLUTION


# %%
check("10.D", language_model_loss)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# A text of five tokens asks how many questions? So how many rows of logits, and how
# many ids are left?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `F.cross_entropy` wants the vocabulary on axis 1. `transpose` exchanges two axes;
# `reshape` does not.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# drop one row of logits at one end, one id at the other; cross-entropy.
# </details>

# %%
logits = torch.randn(3, 8, 61, generator=torch.Generator().manual_seed(0))
example = ids[:24].view(3, 8)
print(f"{language_model_loss(logits, example).item():.4f}")

# %% [markdown] slide="subslide"
# ### Break it: what if nobody shifts?
#
# A small GPT learns from the sonnets, once without the shift. Both models have the same
# first weights and see the same text.


# %%
def copying_loss(model, text):
    """No shift: every place is asked for the token it has just read."""
    return F.cross_entropy(model(text).transpose(1, 2), text)


def raised(loss_of, steps=100):
    """A small GPT after a short training, and its last loss."""
    torch.manual_seed(0)
    model = course.GPT(course.GPTConfig(61, 33, 48, 4, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    pieces = contest.windows(ids, 16, 32, seed=0)
    history = training.train(model, pieces, loss_of, optimizer, steps)
    return model.eval(), history.loss[-1]


# %%
begin = characters.encode("The winter")[None]
for name, loss_of in (
    ("without the shift", copying_loss),
    ("with the shift", contest.next_token_loss),
):
    model, loss = raised(loss_of)
    honest = contest.next_token_loss(model, held_out[:33][None]).item()
    written = characters.decode(course.write_greedily(model, begin, 15)[0])
    print(f"{name}: training loss {loss:.2f}, real loss {honest:.2f}, {written!r}")
    assert (loss < 0.1) == (loss_of is copying_loss) == (honest > math.log(61))

# %% [markdown]
# Without the shift the loss is almost 0, and the model repeats the last letter for
# ever: it was asked to say what it had just read. Tied embeddings make that very easy.
# As in lesson 06, the loss looks best where the question was wrong.

# %% [markdown] slide="slide"
# ## Tokens: neither characters nor words
#
# Characters make long texts. Words make a huge vocabulary, and the first unknown word
# is the end of it. **Byte-pair encoding** lies between: begin with characters, join the
# two neighbours that are most frequent, and again, and again.

# %% [markdown]
# By hand, with the example of Sennrich et al. (2016): *low* occurs 5 times, *lower*
# twice, *newest* 6 times, *widest* 3 times. Which two letters stand side by side most
# often? Count *es*, *lo* and *we* with a pencil before you run the cell.

# %% tags=["nbval-check-output"]
words = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
for pair in ("es", "lo", "we"):
    terms = [f"{count} ({word})" for word, count in words.items() if pair in word]
    print(pair, "=", " + ".join(terms))

# %% [markdown]
# *es* wins with 9 (and so does *st*: of equals we take the one that is met first). From
# then on *newest* is n, e, w, es, t. Pairs are counted **within** words: the end of one
# word and the beginning of the next are no neighbours.

# %% [markdown] exercise="10.E"
# Write both halves of it: find the pair, and merge it in one word.


# %% exercise="10.E"
def most_frequent_pair(words: dict[tuple[str, ...], int]) -> tuple[str, str]:
    """The two symbols that stand side by side most often.

    Args:
        words: a word, as a tuple of symbols -> how often it occurs

    Returns:
        The pair. Of several that are equally frequent, the one that is met first when
        the words are read in their order, each from left to right.
    """
    ### BEGIN SOLUTION
    #: counts = {}  # pair -> how often
    counts = {}
    for word, times in words.items():
        for pair in pairwise(word):
            counts[pair] = counts.get(pair, 0) + times
    return max(counts, key=counts.get)
    ### END SOLUTION


def merge(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    """Join a pair into one symbol wherever it stands, from left to right.

    Args:
        word: its symbols
        pair: two symbols

    Returns:
        The word with fewer symbols, or as it was.
    """
    ### BEGIN SOLUTION
    #: symbols = []
    symbols = []
    for symbol in word:
        symbols.append(symbol)
        if tuple(symbols[-2:]) == pair:
            symbols[-2:] = ["".join(pair)]
    return tuple(symbols)
    ### END SOLUTION


# %%
check("10.E", most_frequent_pair, merge)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# How many pairs of neighbours does a word of four symbols have, and how often does each
# of them count if the word occurs six times?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `pairwise("low")` gives l, o and o, w. `max(counts, key=...)` finds a key by its
# value, and of equals the first. In *aaa* the pair *aa* can be joined once only.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# merge: begin with an empty list; append symbol after symbol; whenever the last two
# are the pair, replace them by one.
# </details>

# %%
split = {tuple(word): count for word, count in words.items()}
for _ in range(4):
    pair = tuple(most_frequent_pair(split))
    split = {tuple(merge(word, pair)): count for word, count in split.items()}
    print("".join(pair), "→", *(" ".join(word) for word in split), sep="   ")

# %% [markdown]
# Run on over a whole text, this loop learns a tokenizer. Here the course's version
# learns 300 merges from the sonnets (a space belongs to the word behind it), then cuts
# a line that it has not seen.

# %% tags=["nbval-check-output"]
merges = byte_pairs.learn(byte_pairs.count_words(train_text), 300)
print("first merges:", *("".join(pair) for pair in merges[:8]), sep=" | ")
line = held_out_text.splitlines()[0]
cut = [byte_pairs.encode(word, merges) for word in byte_pairs.count_words(line)]
print(*(piece for word in cut for piece in word), sep=" | ")
print(len(line), "characters,", sum(map(len, cut)), "pieces")

# %% [markdown]
# GPT-2 does the same with **bytes** in place of characters: 256 of them can spell every
# text there is, so nothing is ever unknown. The bundled checkpoint has 4,096 tokens,
# OpenAI's 50,257. (`Ġ` is how its files write a space.)

# %%
tokenizer = pretrained.load_tokenizer("gpt2")
sentence = "If the file does not exist, an untranslatable error is raised."
print(f"{len(tokenizer):,} tokens:", *tokenizer.tokenize(sentence))
assert tokenizer.decode(tokenizer.encode(sentence)) == sentence

# %% [markdown] slide="slide"
# ## A cache: read each token once
#
# To write 100 tokens, the model is asked 100 times. Each time it reads everything
# again, though nothing it has read has changed: **no token sees a later one**, so the
# keys and values of the old tokens stay the same. Keep them.

# %% slide="subslide"
tokens = ["The", "gate", "is", "shut", "and", "cold"]
show_figure(
    draw.cache_work(tokens),
    "Two triangles of scores for six tokens. Without a cache all 21 fields are "
    "computed again for the next token; with a cache only the last row of six is.",
)

# %% [markdown]
# By hand: three tokens have been read, two new ones come in one call. Queries: two.
# Keys: five. The first new token may see four of them, the second all. So the mask of
# the new ones is a triangle in the **right** corner:

# %% tags=["nbval-check-output"]
new, keys = 2, 5
seen = torch.ones(new, keys).tril(diagonal=keys - new)
show("may attend", seen.int())

# %% [markdown] exercise="10.F"
# First one layer: it gets the new tokens only, and the keys and values of the past.
# Then the whole model: every layer has a past of its own, and the new tokens' positions
# go on where the past ends. Leave the past itself as it is.


# %% exercise="10.F"
def attend_on(
    layer: course.CausalSelfAttention,
    x: Tensor,
    past: tuple[Tensor, Tensor] | None,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Self-attention of new tokens, which see the past, themselves and no later one.

    Args:
        layer: has num_heads, to_qkv (D -> 3 D: query, key, value in this order), W_o
        x: (B, T, D), the new tokens
        past: keys and values of all S tokens before, (B, H, S, K) each; None: none

    Returns:
        output (B, T, D), and (keys, values) of all tokens, (B, H, S + T, K) each
    """
    query, key, value = (
        split_heads(part, layer.num_heads) for part in layer.to_qkv(x).chunk(3, -1)
    )  # (B, H, T, K) each
    ### BEGIN SOLUTION
    #: mask = ...  # (T, S + T)
    #: mixed = ...  # (B, H, T, K)
    if past is not None:
        key = torch.cat([past[0], key], dim=2)  # (B, H, S + T, K)
        value = torch.cat([past[1], value], dim=2)
    every_pair = torch.ones(query.shape[2], key.shape[2], device=x.device)
    mask = every_pair.tril(diagonal=key.shape[2] - query.shape[2]).bool()
    mixed = attention(query, key, value, mask)  # (B, H, T, K)
    return layer.W_o(merge_heads(mixed)), (key, value)
    ### END SOLUTION


def read_on(
    model: course.GPT, ids: Tensor, past: list | None
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """Read new tokens after those that have been read before. No dropout.

    Args:
        model: has embedding, positions, layers, norm; each layer norm1, attention,
            norm2, feed_forward
        ids: (B, T), the new tokens
        past: what this function returned for the tokens before; None: none

    Returns:
        logits (B, T, V) of the new tokens, and for each layer its keys and values
    """
    ### BEGIN SOLUTION
    #: start = ...  # how many tokens have been read
    start = past[0][0].shape[2] if past else 0
    places = torch.arange(start, start + ids.shape[1], device=ids.device)
    x = model.embedding(ids) + model.positions(places)  # (B, T, D)
    everything = []
    before = past or [None] * len(model.layers)
    for layer, one in zip(model.layers, before, strict=True):
        found, pair = attend_on(layer.attention, layer.norm1(x), one)
        x = x + found
        x = x + layer.feed_forward(layer.norm2(x))
        everything.append(pair)
    return model.norm(x) @ model.embedding.weight.T, everything
    ### END SOLUTION


# %%
check("10.F", attend_on, read_on)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# The keys have four axes. Which one grows with the text? And where in a past of
# several layers can you read off how many tokens there were?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `torch.cat` with `dim=`. `tril` has an argument that moves its diagonal: see the cell
# by hand. `attention(query, key, value, mask)` returns the mixed values.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# one layer: old keys, then new ones; the same for values; mask; attention; merge heads;
# last projection. The model: positions from the length of the past; block by block as
# in 10.A, each with its own past; collect the pairs; last norm; scores.
# </details>

# %%
small = course.GPT(course.GPTConfig(61, 32, 48, 4, 2)).eval()
sentence = characters.encode("The gate is shut.")[None]  # (B=1, T=17)
first, past = read_on(small, sentence[:, :9], None)
second, past = read_on(small, sentence[:, 9:], past)
gap = (torch.cat([first, second], 1) - small(sentence)).abs().max()
print("largest difference from reading all at once:", f"{gap.item():.0e}")

# %% [markdown]
# What does it bring? The bundled GPT-2 continues a prompt, by the course's own
# implementation, with and without a cache. Both write the same tokens. That is
# asserted; the seconds are yours.

# %%
model = course.load_gpt2(pretrained.path("gpt2"))
prompt = torch.tensor([tokenizer.encode("If the file does not exist,")])
texts = {}
for cached in (False, True):
    start = time.perf_counter()
    texts[cached] = course.write_greedily(model, prompt, 120, cached=cached)
    print(f"cached={cached}: 120 tokens in {time.perf_counter() - start:.2f} s")
assert torch.equal(texts[False], texts[True])
print(tokenizer.decode(texts[True][0, :40].tolist()))

# %% [markdown] slide="subslide"
# ### Break it: positions that start again
#
# The favourite mistake under a cache gives every new token position 0. Nothing raises.
# The beginning of the text is right, and then?

# %% tags=["nbval-check-output"]
restarted = copy.deepcopy(model)
with torch.no_grad():
    restarted.positions.weight[:] = model.positions.weight[0]
    gaps = (restarted(prompt) - model(prompt)).abs().amax((0, 2))  # (T)
show("largest error of a logit, place by place", gaps, digits=0)
assert gaps[0] < 1e-4 and gaps[1:].min() > 1

# %% [markdown]
# The first place is right, for its position is 0 indeed. A test that looks at one step
# passes. Compare a whole text, cached and not.

# %% [markdown] slide="slide"
# ## Your GPT is GPT-2
#
# The same architecture means: the same numbers must fit. Here are the parts of a GPT-2
# from `transformers`, and their shapes beside those of yours.

# %%
from transformers import AutoModelForCausalLM

with pretrained.quiet():
    theirs = AutoModelForCausalLM.from_pretrained(
        pretrained.path("gpt2"), dtype=torch.float32
    ).eval()
print(theirs.transformer.h[0])

# %%
facts = theirs.config
config = course.GPTConfig(
    facts.vocab_size, facts.n_positions, facts.n_embd, facts.n_head, facts.n_layer
)
yours = course.GPT(config).layers[0]
for ours, name in (
    ("attention.to_qkv", "attn.c_attn"),
    ("attention.W_o", "attn.c_proj"),
    ("feed_forward.W_1", "mlp.c_fc"),
    ("feed_forward.W_2", "mlp.c_proj"),
):
    mine_is = tuple(yours.get_submodule(ours).weight.shape)
    theirs_is = tuple(theirs.transformer.h[0].get_submodule(name).weight.shape)
    print(f"{ours:16} {mine_is!s:12} {name:12} {theirs_is}")

# %% [markdown] exercise="10.G"
# Copy their numbers into your model. Look at the shapes first: `nn.Linear` keeps its
# matrix as (out, in), their `Conv1D` as (in, out). One of the four is square and fits
# both ways. It is stored like the others.


# %% exercise="10.G"
@torch.no_grad()
def load_gpt2(mine: nn.Module, theirs: nn.Module) -> nn.Module:
    """Fill a GPT with the numbers of a GPT-2.

    Args:
        mine: embedding, positions, layers, norm; each layer as in 10.A, its attention
            with to_qkv and W_o, its feed_forward with W_1 and W_2
        theirs: a GPT2LMHeadModel with as many blocks; in theirs.transformer are wte
            (tokens), wpe (positions), h (the blocks) and ln_f (the last norm)

    Returns:
        mine; theirs is not changed, and no memory is shared with it
    """
    ### BEGIN SOLUTION
    #: pairs = ...  # of layers, yours and theirs
    body = theirs.transformer
    pairs = [(mine.embedding, body.wte), (mine.positions, body.wpe)]
    pairs.append((mine.norm, body.ln_f))
    for block, other in zip(mine.layers, body.h, strict=True):
        pairs += [(block.norm1, other.ln_1), (block.norm2, other.ln_2)]
        pairs.append((block.attention.to_qkv, other.attn.c_attn))
        pairs.append((block.attention.W_o, other.attn.c_proj))
        pairs.append((block.feed_forward.W_1, other.mlp.c_fc))
        pairs.append((block.feed_forward.W_2, other.mlp.c_proj))
    for target, source in pairs:
        turned = isinstance(target, nn.Linear)
        target.weight.copy_(source.weight.T if turned else source.weight)
        if not isinstance(target, nn.Embedding):
            target.bias.copy_(source.bias)
    return mine
    ### END SOLUTION


# %%
check("10.G", load_gpt2)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# How many layers with numbers does one of your blocks have? Write their names in one
# column, and theirs beside them.
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `target.copy_(source)` under `torch.no_grad()` copies numbers. Tables have no bias,
# all other layers have one.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# list all pairs of layers, yours and theirs, block by block; for each pair copy the
# weight, turned if it is a matrix of a linear layer; copy the bias where there is one.
# </details>

# %% [markdown]
# Now the whole of it, as far as it is yours: your block, your model, your loading.
# Where an exercise does not pass yet, the course's part stands in.

# %%
mine = OwnParts()
mine.take("10.A", GPTBlock)
mine.take("10.C", GPT)
mine.take("10.G", load_gpt2)

# %%
own = mine.GPT(config).eval()
own.layers = nn.ModuleList(
    mine.GPTBlock(config.d_model, config.num_heads, config.d_ff)
    for _ in range(facts.n_layer)
)
_ = mine.load_gpt2(own, theirs)

# %%
texts = ["This class is used to", "Return the number of elements in the"]
for text in texts:
    read = torch.tensor([tokenizer.encode(text)])  # (B=1, T)
    with torch.no_grad():
        ours, other = own(read), theirs(read).logits
    gap = (ours - other).abs().max().item()
    print(f"{text!r} → {tokenizer.decode(ours[0, -1].argmax())!r}, {gap:.0e} apart")
    assert gap < 1e-4

# %% [markdown]
# Every logit agrees with `transformers` to four digits after the point. What you have
# built in three exercises **is** GPT-2; OpenAI's differ in size and in what they have
# read. Lesson 11 is about choosing among these logits.

# %% [markdown] slide="slide"
# ## See it on something real: GPT against the LSTM
#
# Lesson 07's LSTM and your GPT read the same sonnets, with about the same number of
# parameters and the same number of characters in each step. Who writes better? First
# for the same number of steps; then the LSTM gets more, for about the same time.

# %% tags=["contest"]
seed = 10
torch.manual_seed(seed)
lstm, longer = CharacterModel(61, 264), CharacterModel(61, 264)
sizes = {"d_model": 120, "num_heads": 4, "num_layers": 2, "first_std": 0.08}
gpt = course.GPT(course.GPTConfig(61, 64, **sizes))
numbers = [sum(p.numel() for p in model.parameters()) for model in (lstm, gpt)]
print("LSTM {:,} parameters, GPT {:,}".format(*numbers))
assert abs(numbers[0] / numbers[1] - 1) < 0.02

# %% tags=["contest"]
some = held_out[:4000]  # measured while they learn
options = {"held_out": some, "every": 50}
contestants = {"GPT": contest.train_gpt(gpt, ids, 250, rate=4e-3, seed=seed, **options)}

# %% tags=["contest"]
contestants["LSTM, as many steps"] = chars.train_on_characters(
    lstm, ids, 250, rate=4e-3, **options
)

# %% tags=["contest"]
contestants["LSTM, more steps"] = chars.train_on_characters(
    longer, ids, 430, rate=4e-3, **options
)
for name, history in contestants.items():
    print(f"{name}: {len(history.loss)} steps, {history.seconds:.0f} s of training")

# %%
show_figure(
    draw.contest(contestants, {"counting pairs": pair_bits}),
    "Bits per held-out character, against steps on the left and seconds on the right. "
    "All curves fall below the line of counting pairs. With as many steps the GPT ends "
    "lower than the LSTM; with more steps in about the same time the LSTM catches up.",
)

# %% tags=["contest"]
reader = contest.AsRecurrent(gpt)
bits = {
    "GPT": chars.bits_per_character(reader, held_out, reader.keep),
    "LSTM, as many steps": chars.bits_per_character(lstm, held_out),
    "LSTM, more steps": chars.bits_per_character(longer, held_out),
}
for name, value in bits.items():
    print(f"{name}: {value:.2f} bits per character of all held-out sonnets")
assert max(bits.values()) < pair_bits - 0.1
assert bits["GPT"] < bits["LSTM, as many steps"]
assert abs(bits["GPT"] - bits["LSTM, more steps"]) < 0.3

# %% [markdown]
# Step for step the GPT is ahead: whatever stands in its window is one look away. But a
# step of this LSTM is cheaper, and in about the same time both are about equal. On so
# little text, and with so few steps, neither architecture runs away.

# %% [markdown]
# And the settings weigh as much as the architecture. Our first GPT had three layers, a
# window of 128 and GPT-2's small first numbers: it ended behind both LSTMs. Be wary of
# a comparison in which only one side was tuned. Here is what both write now.

# %%
draws = torch.Generator().manual_seed(seed)
for name, model in (("GPT", reader), ("LSTM", lstm)):
    written = chars.sample(
        model, characters, "The winter", 100, temperature=0.7, generator=draws
    )
    print(f"--- {name}\n{written}\n")

# %% [markdown] slide="slide"
# ## What attention buys: recall
#
# Now a task that is all about the past. Eight pairs are told, a name and a number each.
# Then the names come again, in another order, and the number is asked for. New pairs in
# every text: nothing can be learned by heart. (Arora et al. 2023.)

# %% tags=["recall"]
task = recall.RecallTask()


def name_of(token: int) -> str:
    """Keys as letters, values as numbers."""
    return ascii_letters[token] if token < task.keys else str(token - task.keys)


example, answers = task.batch(1, torch.Generator().manual_seed(0))
told, asked = example[0].split([2 * task.pairs, task.pairs])
print("told: ", *map(name_of, told.tolist()))
print("asked:", *map(name_of, asked.tolist()))
print("right:", *map(name_of, answers[0].tolist()))

# %% [markdown]
# An LSTM has to carry all eight pairs along in one state. A GPT leaves them where they
# are, and looks them up. It gets two layers. The LSTM gets more than three times its
# parameters, as many steps, and with that more time as well.

# %% tags=["recall"]
seed = 10
torch.manual_seed(seed)
sizes = course.GPTConfig(
    task.vocab_size, task.length, d_model=64, num_heads=2, num_layers=2, first_std=0.07
)
looker = recall.RecallGPT(sizes)
carrier = CharacterModel(task.vocab_size, hidden_size=256)  # an LSTM
numbers = [sum(p.numel() for p in model.parameters()) for model in (looker, carrier)]
print("GPT {:,} parameters, LSTM {:,}".format(*numbers))
assert numbers[1] > 3 * numbers[0]

# %% [markdown]
# (`RecallGPT` is your GPT with a scoring layer of its own and larger first numbers: the
# keys that are read last are never what is written. Both models learn with *Muon*, an
# optimizer for matrices that the bundled GPT-2 was trained with too: see its card.)

# %% tags=["recall"]
curves = {"GPT, two layers": recall.train_to_recall(looker, task, 400, seed)}

# %% tags=["recall"]
curves["LSTM"] = recall.train_to_recall(carrier, task, 400, seed)
right = {name: shares[-1] for name, (_, shares) in curves.items()}
for name, (seconds, _) in curves.items():
    print(f"{name}: {right[name]:.1%} right on new texts, {seconds[-1]:.0f} s")
assert right["GPT, two layers"] > 0.99 and right["LSTM"] < 0.6

# %%
show_figure(
    draw.recall_curves(curves, chance=1 / task.pairs),
    "Right answers on new texts against seconds of training. The GPT climbs past one "
    "in eight, then steeply to almost 1. The LSTM stays a little above one in eight.",
)

# %% [markdown]
# Look at the shape of the curve. First the GPT learns to say one of the values that
# were told, whichever: one in eight is right. Then, within some dozen steps, it finds
# out how to look one up. What exactly did it find?

# %% [markdown] slide="slide"
# ## Two steps, two heads
#
# A query sees a key that it knows, but the answer stands **one place behind** it. One
# look is not enough. In the first layer every value looks at the token before it and
# notes its key. In the second layer a query looks for the value that has noted *its*
# key. (Olsson et al. 2022 call such a second head an *induction head*.)

# %% [markdown] exercise="10.H"
# Find the two heads by a score each. Both are mean weights, one number per head.


# %% exercise="10.H"
def previous_token_score(weights: Tensor) -> Tensor:
    """How much weight falls on the token before?

    Args:
        weights: (B, H, T, T), row = query

    Returns:
        (H): the mean over all texts, and over all places that have a token before them
    """
    ### BEGIN SOLUTION
    beside = weights.diagonal(offset=-1, dim1=2, dim2=3)  # (B, H, T - 1)
    return beside.mean(dim=(0, 2))
    ### END SOLUTION


def lookup_score(weights: Tensor, ids: Tensor, pairs: int) -> Tensor:
    """How much weight of a query falls on its answer?

    Args:
        weights: (B, H, T, T)
        ids: (B, T): key, value, key, value, ... for all pairs, then the keys again in
            another order, T = 3 * pairs; the answer stands behind the key's first place
        pairs: how many

    Returns:
        (H): the mean over all texts, and over the last `pairs` places, the queries
    """
    ### BEGIN SOLUTION
    #: score = ...  # (H)
    score = torch.zeros(weights.shape[1], dtype=weights.dtype)
    for text, row in enumerate(ids.tolist()):
        for place in range(2 * pairs, 3 * pairs):
            answer = row.index(row[place]) + 1
            score = score + weights[text, :, place, answer]
    return score / (len(ids) * pairs)
    ### END SOLUTION


# %%
check("10.H", previous_token_score, lookup_score)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Row 7 of the weights belongs to token 7. In which column does the weight on token 6
# stand? And for a query: at which place does the same id stand for the first time?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `tensor.diagonal(offset, dim1, dim2)` cuts a line parallel to the diagonal.
# `list.index` finds the first place. Loops are welcome.
# </details>

# %%
ids_seen, _ = task.batch(200, torch.Generator().manual_seed(1))
found = course.attention_weights(looker.eval(), ids_seen)  # per layer (B, H, T, T)
for number, weights in enumerate(found):
    print(f"layer {number}, previous token:", previous_token_score(weights))
    print(f"layer {number}, look-up:       ", lookup_score(weights, ids_seen, 8))

# %% tags=["recall"]
ids_seen, _ = task.batch(200, torch.Generator().manual_seed(1))
found = course.attention_weights(looker.eval(), ids_seen)
names = [f"layer {n}, head {h}" for n in range(2) for h in range(2)]
scores = {
    "previous token": torch.cat([recall.previous_token_score(one) for one in found]),
    "look-up": torch.cat([recall.lookup_score(one, ids_seen, 8) for one in found]),
}
previous, lookup = (one.argmax().item() for one in scores.values())
print("previous token:", names[previous], "· look-up:", names[lookup])
assert previous < 2 <= lookup  # first layer, second layer
assert scores["look-up"].max() > 0.5

# %%
show_figure(
    draw.head_scores(scores, names),
    "Two bars for each of four heads. The highest previous-token score belongs to a "
    "head of the first layer, the highest look-up score to one of the second layer.",
)

# %% slide="subslide"
tokens = [name_of(token) for token in ids_seen[0].tolist()]
show_figure(
    draw.two_heads(
        {
            f"previous token: {names[previous]}": found[0][0, previous],
            f"look-up: {names[lookup]}": found[1][0, lookup - 2],
        },
        tokens,
        told=2 * task.pairs,
    ),
    "Attention of the two heads for one text. Left, in the rows of the values, the "
    "dark fields lie just left of the diagonal: every value looks at its key. Right, "
    "in the rows of queries below the line, a dark field at the value that was told.",
)

# %% [markdown]
# Left: only values have a reason to look back, and they give it nearly all their
# weight. Keys look here and there, so the mean over all places is well below 1.

# %% [markdown]
# Right: read a row below the line: the query is a letter, and its dark field
# stands in the column of the number that was told with it. Nobody programmed that, and
# nobody said that there should be two steps. (Two heads of a layer may learn the same
# job: compare the bars.)

# %% [markdown] slide="slide"
# ## What you can now do
#
# - Build a GPT from a block, one table and a shifted loss, and load GPT-2 into it.
# - Learn byte pairs, and read the tokens of a real tokenizer.
# - Write with a cache, and know how to test it.
# - Say what was measured here: on little text neither side runs away; where something
#   has to be looked up, two layers of attention do what the LSTM did not learn.
#
# Next, lesson 11: from logits to text. Greedy or at random, and what comes after.

# %% [markdown] slide="skip"
# **References.** Radford et al. 2018 and 2019 (GPT, GPT-2). Vaswani et al. 2017 (arXiv
# 1706.03762). Press and Wolf 2017 (arXiv 1608.05859), for tied embeddings. Gage 1994
# and Sennrich et al. 2016 (arXiv 1508.07909), for byte pairs. Arora et al. 2023 (arXiv
# 2312.04927), for recall. Olsson et al. 2022 (arXiv 2209.11895), for induction heads.
# Karpathy's minGPT and nanoGPT show a whole GPT on one screen.
