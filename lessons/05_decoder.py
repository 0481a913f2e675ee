# %% [markdown] slide="slide"
# # 05 The decoder: the other half
#
# **How can a model write, word by word, while it keeps an eye on what it has read?**
#
# You need: lessons 03 and 04. Time: {minutes}. Everything runs on your laptop's CPU,
# without a network.

# %% [markdown] slide="subslide"
# At the end of this lesson you can
#
# - build a decoder layer, a decoder and the whole Transformer of 2017;
# - count its parameters with a pencil;
# - let it write: greedy decoding for a whole batch;
# - tell by measurement when a model cheats, reads padding, or does not listen;
# - read BERT, GPT and T5 as three readings of one figure.

# %% [markdown] slide="notes"
# 45 minutes: why (3), the figure, box by box (8), live coding of 5.A (12), the call of
# 5.C (5), greedy decoding on the reversing model (7), the loss below the floor (5),
# three readings (5). Leave 5.B, 5.D, 5.G, 5.H for the lab. Usual trouble: where keys
# and values come from, and which mask goes where.

# %%
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import pretrained, show
from helpers.checks import check
from helpers.figures import show_figure
from helpers.figures import transformer as draw
from helpers.models import transformer as course
from helpers.models.attention import attention
from helpers.models.encoder import Encoder, EncoderLayer
from helpers.models.layers import FeedForward
from helpers.models.multi_head import MultiHeadAttention
from helpers.models.positions import PositionalEncoding, TokenEmbedding

_ = torch.manual_seed(5)

# %% [markdown]
# **Letters in shape comments**: `B` batch, `T` target length (queries), `S` source
# length (keys), `D` d_model, `H` heads, `F` d_ff, `V` vocabulary. *Memory* is the
# encoder's output. A mask is boolean, and True means "may attend".

# %% [markdown] slide="slide"
# ## Why: an encoder can read, but it can't write
#
# An encoder gives back one vector per word that went in. A translation has another
# number of words in another order: *potato* becomes *pomme de terre*, *forty-two*
# becomes *zweiundvierzig*, two-and-forty.

# %% tags=["nbval-check-output"]
reader = Encoder(vocab_size=100, d_model=12, num_heads=3, d_ff=24, num_layers=1)
for words in (1, 2, 5):
    read = reader(torch.ones(1, words, dtype=torch.long))
    print(f"{words} words in, {read.shape[1]} vectors out")

# %% [markdown]
# So a second network writes: one word at a time, and after each word it looks at two
# things. What have I written so far? And what does the source say? The first look is
# self-attention. The second is new: **cross-attention**.

# %% slide="slide"
show_figure(
    draw.architecture(),
    "The Transformer. Left, the encoder: embedding and positions, then N layers of "
    "self-attention and feed-forward, each with add and norm; its output is the "
    "memory. Right, the decoder: self-attention without the future, cross-attention "
    "that gets the memory from the left, feed-forward; on top a final layer and a "
    "softmax that give the next word.",
)

# %% [markdown]
# Walk through it, from bottom to top. Words become vectors and get positions. On the
# left all words look at all words. On the right each word looks at those **before** it,
# then at the **memory**, then thinks for itself. The last layer turns each vector into
# a score per word. (Our drawing of figure 1 of Vaswani et al. 2017.)

# %% [markdown] slide="slide"
# ## By hand: two written words look at three read ones
#
# In cross-attention the **queries** come from the decoder, **keys and values** from the
# memory. Take two queries and three memory vectors, without projections. Take a pencil:
# how many rows do the weights have, how many columns?

# %% tags=["nbval-check-output"]
written = torch.tensor([[2.0, 0.0], [0.0, 3.0]])  # (T=2, 2): queries
memory = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])  # (S=3, 2): keys, values
found, weights = attention(written, memory, memory, need_weights=True)
show("weights", weights)  # (T, S): a row per written word
show("found", found)  # (T, 2): as many as were written

# %% [markdown]
# The second word finds its answer in the last two of the words read, 0.4717 each.
# However long the source is, one vector per *written* word comes back: that is what
# lets the two sentences have different lengths.

# %% [markdown] slide="slide"
# ## No look at the future
#
# In training the decoder gets the whole translation at once, and at each place it has
# to say the word that comes next. It must not look there. The **look-ahead mask** is
# True where the key stands at the query or before it. (Lesson 06 builds it.)

# %% tags=["nbval-check-output"]
future_hidden = course.look_ahead_mask(3)  # (T, T)
show("may attend", future_hidden.int())
own = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])  # (T=3, 2)
_, weights = attention(own, own, own, future_hidden, need_weights=True)
show("weights", weights)

# %% [markdown]
# The first word can only look at itself: 1.0000. The source needs no such mask. All of
# it is there before the first word is written. It needs a *padding mask* instead, as in
# lesson 04.

# %% [markdown] exercise="5.A" slide="slide"
# Build the layer. It has three sublayers: self-attention, cross-attention (each a
# `MultiHeadAttention(d_model, num_heads)`), feed-forward. Each has a residual
# connection, dropout on what it adds, and a layer norm of its own: norm1, norm2, norm3.
# Pre-norm and post-norm are the flag `norm_first`, as in lesson 04.


# %% exercise="5.A"
class DecoderLayer(nn.Module):
    """Look at what is written, then at the source, then think.

    Args:
        d_model, num_heads, d_ff: as in the encoder layer
        dropout: share of what each sublayer adds that is dropped in training
        norm_first: pre-norm; by default post-norm
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.dropout = nn.Dropout(dropout)
        self.feed_forward = FeedForward(d_model, d_ff)
        ### BEGIN SOLUTION
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        ### END SOLUTION

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        target_mask: Tensor | None,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        """Give every written word a vector that knows the words before it and memory.

        Args:
            x: (B, T, D), the written words
            memory: (B, S, D), the encoder's output; its norm has been applied already
            target_mask: who may look at whom in x, broadcasts to (B, H, T, T)
            source_mask: who may look at what in memory, broadcasts to (B, H, T, S)

        Returns:
            (B, T, D)
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
# `MultiHeadAttention` takes (query, key, value, mask). For each of the two attentions:
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
# for each of the three sublayers: take x (pre-norm: its norm), run the sublayer on it,
# drop out, add to x; in post-norm: normalise the sum.
# </details>

# %%
x, memory = torch.randn(64, 20, 300), torch.randn(64, 17, 300)  # (B, T, D), (B, S, D)
layer = DecoderLayer(d_model=300, num_heads=6, d_ff=600)
print(tuple(layer(x, memory, course.look_ahead_mask(20)).shape))

# %% [markdown]
# `target_mask` has no default on purpose. Published decoders often default to
# `mask=None`, and their demos run without one: a decoder that sees the future unless
# you forbid it. You will see below what that costs.

# %% [markdown] exercise="5.B" slide="slide"
# Stack them. A decoder embeds the target's words, adds positions, and runs its layers
# one after the other. All layers read the **same** memory. Use the course's
# `course.DecoderLayer`: it takes the same arguments as yours (`norm_first` by name).


# %% exercise="5.B"
class Decoder(nn.Module):
    """Ids of the written words in, one vector per word out.

    Args:
        vocab_size: V of the target
        d_model, num_heads, d_ff, dropout, norm_first: for each layer
        num_layers: how many layers, each with weights of its own
        max_length: the longest target
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        num_layers: int,
        max_length: int = 512,
        dropout: float = 0.1,
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_model)  # times sqrt(d_model)
        self.positions = PositionalEncoding(d_model, max_length)  # adds its table
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        ### BEGIN SOLUTION
        self.layers = nn.ModuleList(
            course.DecoderLayer(
                d_model, num_heads, d_ff, dropout, norm_first=norm_first
            )
            for _ in range(num_layers)
        )
        ### END SOLUTION

    def forward(
        self,
        ids: Tensor,
        memory: Tensor,
        target_mask: Tensor | None,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        """Embed, drop out, run the layers, and end with `self.norm`.

        Args:
            ids: (B, T)
            memory: (B, S, D)
            target_mask: as in the layer
            source_mask: as in the layer

        Returns:
            (B, T, D)
        """
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

# %%
ids = torch.randint(1, 10_000, (64, 20))  # (B, T)
decoder = Decoder(10_000, d_model=300, num_heads=6, d_ff=600, num_layers=2)
print(tuple(decoder(ids, memory, course.look_ahead_mask(20)).shape))

# %% [markdown]
# Vectors, not words: 300 numbers per place. One of our sources says that its decoder
# also has an output layer; its code has none there. It stands in the Transformer, and
# so does ours.

# %% [markdown] exercise="5.C" slide="slide"
# Put the halves together. `encode` reads the source, once. `decode` writes: it returns
# **logits**, a raw score for every word of the target's vocabulary, at every place.
# `forward` does both, as training needs it. Think about who looks at the source: the
# source's mask is needed wherever that happens.

# %%
config = course.TransformerConfig(
    source_vocab=8000, target_vocab=10_000, d_model=96, num_heads=6, d_ff=192,
    num_layers=2,
)  # fmt: skip
print(config.stack)  # what Encoder and Decoder take after the size of their vocabulary


# %% exercise="5.C"
class Transformer(nn.Module):
    """Encoder, decoder, and a final linear layer with a bias.

    Use `Encoder(vocab_size, *config.stack)` and `course.Decoder`, which takes the same.
    """

    def __init__(self, config: course.TransformerConfig) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.encoder = Encoder(config.source_vocab, *config.stack)
        self.decoder = course.Decoder(config.target_vocab, *config.stack)
        self.final_layer = nn.Linear(config.d_model, config.target_vocab)
        ### END SOLUTION

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Read: (B, S) ids, mask (B, 1, 1, S) -> memory (B, S, D)."""
        ### BEGIN SOLUTION
        return self.encoder(source, source_mask)
        ### END SOLUTION

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        target_mask: Tensor | None,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        """Write: (B, T) ids and memory (B, S, D) -> logits (B, T, V)."""
        ### BEGIN SOLUTION
        x = self.decoder(target, memory, target_mask, source_mask)  # (B, T, D)
        return self.final_layer(x)  # (B, T, V)
        ### END SOLUTION

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        source_mask: Tensor | None,
        target_mask: Tensor | None,
    ) -> Tensor:
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

# %%
source = torch.randint(1, 8000, (64, 17))  # (B, S)
target = torch.randint(1, 10_000, (64, 20))  # (B, T)
logits = Transformer(config)(source, target, None, course.look_ahead_mask(20))
print(tuple(logits.shape))  # a score for each of 10,000 words at each of 20 places

# %% [markdown] exercise="5.D" slide="slide"
# How large is it? Don't build the model or parts of it: count, from the numbers in
# `config` alone. Every linear layer has a matrix and a bias, a layer norm a gain and a
# bias. Positions are computed, not learned. Take post-norm, where the stacks end
# without a further norm. Begin with one attention on paper.


# %% exercise="5.D"
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
check("5.D", count_parameters)

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
print(f"by your formula {count_parameters(config):,}")
numel = sum(p.numel() for p in course.Transformer(config).parameters())
print(f"by counting     {numel:,}")

# %% [markdown]
# Your terms count real models, too. Here a layer of the pretrained encoder of lesson 04
# and a layer of the course's small GPT-2, beside an *encoder* layer of ours with the
# same width (and d_ff four times that).

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
# decoder. Keep that in mind for the end of the lesson.

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
# ## Let it write
#
# A trained Transformer gives scores for the next word. Whoever uses it has to turn them
# into a text. The simplest way is **greedy**: begin with a start token, take the word
# with the highest score, append it, ask again, stop at the end token.

# %% [markdown] exercise="5.E"
# Write it for a batch. The sentences end at different times: one that has ended is
# filled with padding (id 0) while the others go on. When all have ended, stop. Read the
# source only once, and call `decode` once per word. While writing, use the mask that
# training used: `course.look_ahead_mask`.


# %% exercise="5.E"
@torch.no_grad()
def greedy_decode(
    model: course.Transformer,
    source: Tensor,
    source_mask: Tensor | None,
    start: int,
    end: int,
    max_new_tokens: int,
) -> Tensor:
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
check("5.E", greedy_decode)

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
# A model to try it on: it learns to write words backwards. The pairs are random
# letters, so no real word is among them on purpose. Ids: 0 padding, 1 to 26 letters, 27
# start, 28 end.

# %%
START, END, LONGEST = 27, 28, 7


def random_pairs(count: int) -> tuple[Tensor, Tensor]:
    """Random letters and the same backwards, between start and end."""
    source = torch.zeros(count, LONGEST, dtype=torch.long)  # (B, S)
    target = torch.zeros(count, LONGEST + 2, dtype=torch.long)  # (B, S + 2)
    target[:, 0] = START
    for row, length in enumerate(torch.randint(2, LONGEST + 1, (count,)).tolist()):
        letters = torch.randint(1, 27, (length,))
        source[row, :length] = letters
        target[row, 1 : length + 1], target[row, length + 1] = letters.flip(0), END
    return source, target


# %% [markdown]
# And a loop that trains it. At each place the decoder sees the words before and is
# asked for the next: `target[:, :-1]` goes in, `target[:, 1:]` is wanted. The loss is
# cross-entropy, padding ignored; Adam has the paper's betas and epsilon, and a rate
# that rises and falls. Lesson 06 takes this cell apart.


# %% locked=true
def train(model: nn.Module, pairs, masks, steps: int) -> list[float]:
    """Teach a model; return its loss at each place of the target in the last steps."""
    adam = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98), eps=1e-9)
    last = []
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
    return torch.stack(last).mean(0).tolist()


# %%
def both_masks(source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Hide the padding of the source; hide padding and future of the target."""
    return course.padding_mask(source), course.target_mask(target)


_ = torch.manual_seed(5)
small = {"d_model": 48, "num_heads": 4, "d_ff": 96, "num_layers": 1, "dropout": 0.0}
config = course.TransformerConfig(27, 29, **small, max_length=16, norm_first=True)
backwards = course.Transformer(config)
train(backwards, random_pairs, both_masks, steps=600)
_ = backwards.eval()

# %% [markdown]
# Now your function writes, on words that nobody showed to the model. Two of them have
# padding, and each ends when it is done.


# %% slide="subslide"
def to_ids(words: list[str]) -> Tensor:
    """Letters to ids, padded to the longest."""
    rows = [torch.tensor([ord(letter) - 96 for letter in word]) for word in words]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)  # (B, S)


def to_words(ids: Tensor) -> list[str]:
    """Ids to letters, without start, end and padding."""
    return ["".join(chr(96 + n) for n in row if 0 < n < 27) for row in ids.tolist()]


examples = to_ids(["decoder", "drawer", "star"])
written = greedy_decode(
    backwards, examples, course.padding_mask(examples), START, END, LONGEST + 1
)
print(written)
print(to_words(written))

# %% [markdown]
# How often is it right? Here the course's own decoding, on 200 new random words; the
# threshold is asserted. Beside it, what the cross-attention looked at.

# %%
from helpers.generation import decoding

source, target = random_pairs(200)
real = course.padding_mask(source)
ids = decoding.greedy_decode(backwards, source, real, START, END, LONGEST + 1)
ids = F.pad(ids, (0, target.shape[1] - ids.shape[1]))
exact = (ids == target).all(1).float().mean().item()
print(f"exactly right: {exact:.0%}")
assert exact > 0.9

# %% slide="subslide"
word = "decoder"
source = to_ids([word])
target = decoding.greedy_decode(backwards, source, None, START, END, LONGEST + 1)
letters = list(to_words(target)[0]) + ["end"]
given = target[:, :-1]
(weights,) = course.cross_weights(backwards, source, given, *both_masks(source, given))
shares = weights[0].mean(0).detach()  # (T, S), mean of the heads
show_figure(
    draw.cross_attention(shares, list(word), letters),
    "Cross-attention of the model that writes backwards, mean of four heads. The dark "
    "fields form a diagonal from the bottom left to the top right: the first letter "
    "written looks at the last one read.",
)
assert (shares[:7].argmax(-1) - torch.arange(6, -1, -1)).abs().float().mean() < 1

# %% [markdown]
# Nobody told it where to look. To write the first letter it looks at the last one it
# has read, and so on: the diagonal runs the other way. In lesson 06 the same picture
# shows a translation.

# %% [markdown] exercise="5.F" slide="slide"
# Break it. Below, the target has **nothing** to do with the source: each of its words
# is drawn at random from 11. No honest model can reach a loss below the entropy of that
# choice. Compute this `floor` from the 11, to three decimals or more: a measured loss
# only comes near it. Then explain the curve: which argument of the model's `forward`
# was `forgotten`? Store its name as a string, spelt as it is there.


# %% locked=true
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

# %% exercise="5.F"
### BEGIN SOLUTION
floor = math.log(11)
forgotten = "target_mask"
### END SOLUTION

# %%
check("5.F", floor, forgotten)

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
# it. Only the last place has no future. A loss that looks too good is a finding: ask
# what the best honest loss could be. When it writes, this model has nothing to copy
# from.

# %% [markdown] exercise="5.G" slide="slide"
# A second one. A published training loop calls the model with the source's mask and the
# target's, but the decoder never gets the first. Measure it: which share of the
# cross-attention falls on padding, averaged over sequences, heads and queries?


# %% exercise="5.G"
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
check("5.G", mass_on_padding)

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

# %% [markdown] exercise="5.H" slide="slide"
# A third one. In a wrong layer the keys, the values or both come from the decoder
# instead of the memory. Shapes tell nothing if both sentences have the same length.
# Write the test: `reads_memory(layer)` gives a layer numbers of your choice and returns
# True only if it reads memory as attention does. Two facts are enough: one about
# **another** memory, one about the **order** of its words.


# %% exercise="5.H"
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
check("5.H", reads_memory)

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
# ## Three readings of one figure
#
# The models you hear about are parts of this figure. BERT keeps the left half and
# reads. GPT keeps the right half and writes; nothing is there to be looked at, so its
# cross-attention goes. T5 keeps both.

# %% slide="subslide"
show_figure(
    draw.readings(),
    "The architecture three times. T5: all of it. BERT: the encoder in black, the "
    "decoder in pale grey. GPT: the decoder in black, but without cross-attention and "
    "its add and norm; the encoder in pale grey.",
)

# %% [markdown]
# Some drawings of GPT show a decoder layer *with* cross-attention. Ask the checkpoint:
# a GPT-2 and its parameter names. (In GPT-2 the norms also stand before the sublayers.)

# %% tags=["nbval-check-output"]
names = [name for name, _ in gpt2.named_parameters()]
print("parameters with 'cross' in their name:", sum("cross" in name for name in names))
print(*(name for name in names if ".h.0." in name), sep="\n")

# %% [markdown]
# What remains of a decoder layer without its cross-attention has the parts of an
# encoder layer. So what is the difference between BERT and GPT? Measure it: on which
# words that went in does each output depend? Two real pretrained models, and your kind
# of Transformer in the middle.


# %%
def words_of(name: str, text: str) -> tuple[Tensor, list[str]]:
    """Ids (1, S) and the pieces of text they stand for."""
    tokenizer = pretrained.load_tokenizer(name)
    ids = tokenizer(text, return_tensors="pt").input_ids
    return ids, [tokenizer.decode([one]).strip() for one in ids[0].tolist()]


text = "return the name of the file"
bert_ids, bert_words = words_of("encoder", text)
gpt_ids, gpt_words = words_of("gpt2", text)
source, target = to_ids(["star"]), torch.tensor([[START, 18, 1, 20, 19]])
masks = both_masks(source, target)

# %%
maps = {
    "encoder only (BERT's kind)": (
        draw.reach(
            lambda: bert(bert_ids).last_hidden_state, bert.get_input_embeddings()
        ),
        bert_words, bert_words,
    ),
    "encoder-decoder (5.E)": (
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
assert (maps["encoder-decoder (5.E)"][0][:, :4] > 0).all()
assert not (maps["encoder-decoder (5.E)"][0][:, 4:] > 0).triu(1).any()
assert torch.equal(
    maps["decoder only (GPT-2)"][0] > 0, torch.ones(2 * [len(gpt_words)]).tril() > 0
)

# %% [markdown]
# The same parts, another mask. In BERT every output knows the whole sentence. In GPT
# each knows only what came before: the triangle is exactly zero above the diagonal.
# Cross-attention sees all of the source, self-attention only the past.

# %% [markdown] exercise="5.J" slide="slide"
# "An LLM is just a stack of Transformer encoder and decoder layers", says one of our
# sources. Explain to its reader, with the figure and the three tables: which parts do
# BERT, GPT and T5 keep, which mask does each need, and for which kind of task is each
# made? Turn a decoder layer into a GPT block: what must go, what must stay? Write eight
# to ten sentences, and correct the quote.

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
# ## What the real libraries do
#
# torch has all of this as `nn.Transformer`. Copy its weights into yours and feed both
# the same sentences. Two things to know: its boolean masks say *blocked* where ours say
# *may attend*, and it puts one more norm on top of each stack, also in post-norm.

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


# %% [markdown]
# Your Transformer from 5.C, before and after it gets the weights of torch's layers.
# Embeddings and final layer stay yours: torch leaves them to you.

# %%
mine = Transformer(config).double()
before = mine(source, target, real, future)
print("the same before:", torch.allclose(before, by_torch(mine), atol=1e-9))
course.copy_weights(theirs, mine)
after = mine(source, target, real, future)
print("the same after: ", torch.allclose(after, by_torch(mine), rtol=0, atol=1e-9))

# %% [markdown] slide="slide"
# ## What you can now do
#
# - Build a decoder layer, a decoder and a Transformer, and say where each mask goes.
# - Count parameters on paper and find the same number in a real checkpoint.
# - Decode greedily, for a batch, and stop at the right time.
# - Notice a loss that is too good, attention on padding, a layer that does not listen.
#
# Next, lesson 06: you build the masks and the training, and your Transformer learns to
# translate numbers.

# %% [markdown] slide="skip"
# **References.** Vaswani et al. 2017, *Attention Is All You Need* (arXiv 1706.03762),
# sections 3.1 to 3.4. Devlin et al. 2019, *BERT* (arXiv 1810.04805). Radford et al.
# 2019, *Language Models are Unsupervised Multitask Learners* (GPT-2). Raffel et al.
# 2020, *T5* (arXiv 1910.10683). Rush et al., *The Annotated Transformer*, for the same
# model beside the paper's text.
