# %% [markdown] slide="slide"
# # 12 From GPT-2 to today's decoder
#
# **What has changed in the block that you wrote, and why?**
#
# You need: a GPT of your own and its cache (lesson 10). Time: {minutes}. Everything
# runs on your laptop's CPU, without a network.

# %% [markdown] slide="notes"
# **1 minute.** Say: you have built GPT-2. Today we open the code of a current model.
#
# Ask: how many of your lines will still be in it?
#
# Expect: "hardly any", or "all, only more layers". The skeleton is the same, and nearly
# every part on it has been exchanged.

# %% [markdown] slide="notes"
# Leave 12.C, 12.E to 12.G and all below Going further for the lab. Usual trouble: which
# features make a pair, `repeat` for `repeat_interleave`, positions that start again
# under a cache.

# %% [markdown] slide="skip"
# At the end of this lesson you can
#
# - read the code of a current open model, and say of each part what it replaced;
# - write RMS norm, rotary positions, SwiGLU and grouped-query attention;
# - build a decoder that takes a Llama's weights and gives its logits;
# - count from a `config.json` what a model needs of memory and of work.

# %% [markdown] slide="slide"
# ## Five years later
#
# GPT-2 appeared in 2019, and you have built it. Llama 3 appeared in 2024. How much of
# your block is left in it?

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: what are the four parts of your own block? Say
# them aloud, then look for them.
#
# Expect: two norms, an attention, a feed-forward. Then somebody sees that `k_proj` is
# a third as wide as `q_proj`.
#
# Say: count with me what is new. RMS, no biases, a third matrix in the feed-forward,
# and few keys.

# %% [markdown] slide="skip"
# The library `transformers` has the code of Llama, and the next cells build a model of
# this kind, far too small to be of any use, with random weights. They print one block,
# whose parts are named as in the large ones. Before you run it, recall the four parts
# of your own block. How many of them will you find again, and which words will mean
# nothing to you?

# %% slide="skip"
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import pretrained, show, training
from helpers.checks import check
from helpers.corpora.sonnets import load_text, split_text
from helpers.corpora.stories import load_stories
from helpers.experiments import two_blocks
from helpers.experiments.centring import share_of_the_mean, with_rms_norms
from helpers.experiments.character_contest import windows
from helpers.experiments.one_head import one_head
from helpers.experiments.tiny_llama import tiny
from helpers.figures import modern as draw
from helpers.figures import show_figure
from helpers.models import counting, gpt, modern
from helpers.models.attention import attention
from helpers.models.gpt import no_future
from helpers.models.modern import ModernConfig, from_transformers, read_config
from helpers.models.multi_head import merge_heads, split_heads
from helpers.student.own_parts import OwnParts
from helpers.text.characters import Characters

_ = torch.manual_seed(12)
mine = OwnParts()
TIRED = "The animal did not cross the street because it was too tired."

# %% slide="fragment"
llama = tiny("Llama")
print(llama.model.layers[0])

# %% [markdown] slide="skip"
# The skeleton is yours: a norm, an attention, another norm, a feed-forward, and as in
# GPT-2 each norm stands before its sublayer. But keys and values are narrower than
# queries: `q_proj` gives 48 numbers and `k_proj` only 16. The feed-forward, here called
# `mlp`, has three matrices instead of two. The norms are called RMS, and everywhere it
# says `bias=False`. One change can't be seen in a block: the model has no table of
# positions.

# %% [markdown] slide="subslide"
# Thick lines show what has changed.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: find the thick lines. Which change can't be seen in the printed
# block?
#
# Expect: the positions. In the left picture they are added at the very bottom, in the
# right one they have moved into the attention.
#
# Say: we go from the norm upwards, one part at a time.

# %%
show_figure(
    draw.blocks(),
    "Two blocks side by side, GPT-2 on the left and Llama 3 on the right, with shapes "
    "on the arrows. Thick lines mark what changed: layer norms became RMS norms, "
    "learned positions are gone and queries and keys are rotated instead, keys and "
    "values have fewer heads, the feed-forward has three matrices and a product, the "
    "biases are gone, and the output has a matrix of its own.",
)

# %% [markdown] slide="skip"
# In this lesson you replace these parts one at a time. At the end your own model takes
# the weights of the one above and gives its logits.

# %% [markdown] slide="slide"
# ## A norm with one step less
#
# Layer norm subtracts the mean of a vector, divides by the standard deviation, and
# applies a gain and a bias. **RMS norm** only divides, by the root of the mean of the
# squares (root, mean, square: RMS):
#
# $$\mathrm{RMSNorm}(x) = g \cdot \frac{x}{\sqrt{\frac{1}{D} \sum_i x_i^2 +
# \varepsilon}}$$
#
# (Zhang and Sennrich 2019)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: take a pencil. What does RMS norm make of [3, 4], and what does
# layer norm?
#
# Expect: a moment for the root of 12.5. Layer norm gives −1 and 1, and most are
# surprised that any other two numbers that rise give the same.
#
# Say: before its gain, RMS norm changes a vector's length alone; layer norm changes its
# direction too.

# %% [markdown] slide="skip"
# Two things are gone, the subtraction of the mean and the bias. The authors suspected
# that layer norm helps because it keeps the size of a vector under control, and that
# moving its mean to zero is not needed. They left that step out, and their models
# trained about as well, and faster. Take [3, 4]: the mean of its squares is 12.5, the
# root of that is about 3.54, so what comes out is [0.85, 1.13]. Layer norm gives [−1,
# 1], as it does for any two numbers that rise.

# %% tags=["nbval-check-output"] slide="fragment"
vector = torch.tensor([3.0, 4.0])
show("RMS norm of [3, 4]", F.rms_norm(vector, (2,)))
show("layer norm of [3, 4]", F.layer_norm(vector, (2,)))

# %% [markdown] exercise="12.A"
# Write RMS norm. The gain is called `weight`, as in torch, and starts with ones.
# Epsilon stands under the root.

# %% [markdown] slide="notes"
# **3 minutes.** Say: you dictate, I type.
#
# Ask: the name says root, mean, square. In which order do we compute them, and along
# which axis?
#
# Expect: an epsilon outside of the root, or a mean that has lost its axis. Let the
# check speak.


# %% exercise="12.A"
class RMSNorm(nn.Module):
    """Divide each vector by its root mean square, and scale every feature.

    Args:
        width: D
        eps: under the root

    The gain is the parameter `weight`, (D,).
    """

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        ### BEGIN SOLUTION
        self.weight = nn.Parameter(torch.ones(width))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        ### BEGIN SOLUTION
        mean_square = x.square().mean(-1, keepdim=True)  # (..., 1)
        return self.weight * x / torch.sqrt(mean_square + self.eps)
        ### END SOLUTION


# %%
check("12.A", RMSNorm)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Read the name backwards: square, mean, root. What is the shape after each of them?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `nn.Parameter` makes a tensor something that is learned. `keepdim=True` keeps an axis
# of length 1 that broadcasts.
# </details>

# %% [markdown] slide="subslide"
# ### Does anything miss the mean?
#
# Take the storyteller, the small GPT-2 of lessons 10 and 11, and let it read stories.
# How large is the mean that its layer norms subtract? And what happens if they stop
# subtracting it, with no training afterwards? Guess the loss before you run the cell.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: the loss on these stories is 0.408. What will it be without the
# subtraction?
#
# Expect: "ten", "it breaks". It is 0.407.
#
# Say: the mean makes up less than a thousandth of the squared length of these vectors.
# So there was hardly anything to subtract, in this model and on these stories.

# %% tags=["nbval-check-output"] slide="skip"
storyteller = gpt.load_gpt2(pretrained.path("storyteller"))
tokenizer = pretrained.load_tokenizer("storyteller")
beginnings = [tokenizer(story.text).input_ids[:100] for story in load_stories()]
stories = torch.tensor([ids for ids in beginnings if len(ids) == 100][:40])  # (B, T)


def loss(logits: Tensor) -> float:
    """Cross-entropy of each next token of the stories, in nats."""
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), stories[:, 1:]).item()


with torch.no_grad():
    before = storyteller(stories)
    left_out = with_rms_norms(storyteller, centred=False)(stories)
print(f"share of the mean: {share_of_the_mean(storyteller, stories):.2%}")
print(f"loss with layer norm {loss(before):.3f}, with RMS norm {loss(left_out):.3f}")

# %% [markdown] slide="skip"
# The mean was hardly there: it makes up less than a thousandth of the squared length of
# these vectors. Without the subtraction the loss on held-out stories changes by less
# than 0.001, in a model that has had no chance to get used to this.

# %% [markdown] slide="subslide"
# The loss hides that single logits moved, some of them by more than 0.5. Even that can
# be undone without training. Subtracting the mean is a linear map, and everything on
# the residual stream comes from one of the two tables or from the last linear layer of
# a sublayer. So build the subtraction into their weights, once and for all. What
# arrives at a norm then has mean zero, and an RMS norm does what the layer norm did.
# How far do you expect the logits to be from the old ones?

# %% [markdown] slide="notes"
# **2 minutes.** Ask: which tables and layers write on the residual stream?
#
# Expect: the feed-forward's second layer at once, the two tables after a moment, W_o
# last.
#
# Say: if each of them writes vectors of mean zero, no norm has a mean to subtract.
# Press: only rounding is left. So every GPT-2 can be turned into a model with RMS
# norms.

# %% slide="fragment"
with torch.no_grad():
    folded = with_rms_norms(storyteller, centred=True)(stories)
print(f"largest difference of two logits: {(folded - before).abs().max().item():.1e}")
print(f"loss {loss(folded):.3f}")
assert (folded - before).abs().max() < 1e-2
assert (left_out - before).abs().max() > 0.5
assert abs(loss(left_out) - loss(before)) < 1e-3
assert 0 < share_of_the_mean(storyteller, stories) < 1e-3

# %% [markdown] slide="skip"
# Only rounding is left. This holds for every GPT-2: it can be turned into a model with
# RMS norms that gives the same logits. (It keeps the norms' biases, and scores tokens
# with the old table.) So subtracting the mean does nothing that the weights could not
# do. Whether training finds such weights as easily is a question for experiments.

# %% [markdown] slide="slide"
# ## Positions that turn
#
# GPT-2 learns a vector for each of its positions and adds it to the token's. The
# storyteller has 256 of them. What does it say to token 257?

# %% [markdown] slide="notes"
# **1 minute.** Ask: what will it say to a text of 257 tokens?
#
# Expect: "it writes nonsense". It can't even start: the table has no such row.
#
# Say: and what is in row 107 was learned without any help from row 106. Often only the
# distance of two words matters.

# %% tags=["nbval-check-output"] slide="fragment"
try:
    storyteller(torch.zeros(1, 257, dtype=torch.long))
except ValueError as error:
    print("ValueError:", error)

# %% [markdown] slide="skip"
# A table has a last row. The model also has to learn each position by itself: nothing
# tells it that 7 comes after 6 just as 107 comes after 106. But often it does not
# matter where a word stands. *It* looks for a noun a few words back, whether the
# sentence is the first or the hundredth. So what should enter the score of a query and
# a key is their **distance**.

# %% [markdown] slide="subslide"
# Lesson 01 had the tool. There a pair of features was the hand of a clock that moves on
# with the position, and moving on by k places was a rotation. **Rotary positions**
# (RoPE, Su et al. 2021) turn the queries and keys themselves: cut a vector into pairs,
# and turn pair *i* of the token at position *t* by the angle
#
# $$\varphi = t \,/\, \mathrm{base}^{\,2i/d_{head}} \qquad
# (a, b)_i \to (a \cos\varphi - b \sin\varphi,\; a \sin\varphi + b \cos\varphi)$$

# %% [markdown] slide="notes"
# **2 minutes.** Say: stretch out both arms as the hands of two clocks. The query is at
# noon, the key at three o'clock.
#
# Ask: I turn both by an hour. What happens to the angle between them, and what to their
# dot product?
#
# Expect: "nothing". Then let only one arm turn.
#
# Say: nine steps and five steps leave a difference of four, and so do 1,009 and 1,005.

# %% [markdown] slide="skip"
# The base is 10,000 in the paper. The first pair turns by one radian per position, the
# last one so slowly that a full turn takes thousands of positions. Now think of a query
# at position 9 and a key at position 5. One has been turned by nine steps and the other
# by five, and only the difference, four steps, enters their dot product. At 1,009 and
# 1,005 it would be the same. Values are not turned: a word should be found by its
# distance, but what it hands over should not depend on it.

# %% slide="subslide"
show_figure(
    draw.hands(d_head=8, base=10_000.0, positions=8),
    "Four dials, one for each pair of a vector with eight features. On each of them "
    "eight arrows show the same pair at positions 0 to 7. On the first dial they go "
    "once around and further, on the second they fill about a tenth of it, and on the "
    "third and fourth they hardly move.",
)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: eight positions are drawn on each dial. Which dial tells position
# 2 from position 3, and which would tell 200 from 2,000?
#
# Expect: the first, and the last. Somebody asks what happens after a full turn of the
# first: it comes round again, like the hand of a clock.
#
# Say: a fast pair sees the neighbours, a slow pair the rough place. All turn at once.

# %% [markdown] exercise="12.B"
# Write the rotation. It gets queries or keys with the tokens on the second to last
# axis, and the positions of these tokens, which need not begin at 0. Pair *i* is made
# of the features *i* and *i* + d_head / 2: the first half of a vector holds all the
# *a*, the second half all the *b*. Compute angles, cosines and sines in float64, then
# bring the last two to the dtype of x.

# %% [markdown] slide="notes"
# **4 minutes.** Say: you dictate, I type; the angles first.
#
# Ask: how many different angles are there for T tokens of K features, and which axis
# belongs to what?
#
# Expect: one angle for all pairs, or pairs of neighbours where halves are asked for.
# Then positions that begin at 0. Let the check speak, and leave its message on the
# wall.


# %% exercise="12.B"
def rotate(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """Turn every pair of features by an angle of its own, position by position.

    Args:
        x: (..., T, K), queries or keys; K is even
        positions: (T,), whole numbers, of these T tokens
        base: of the angles

    Returns:
        (..., T, K), a vector at position 0 stays as it is
    """
    ### BEGIN SOLUTION
    #: angles = ...  # (T, K / 2)
    #: first, second = ...  # (..., T, K / 2) each
    even = torch.arange(0, x.shape[-1], 2, dtype=torch.float64)  # 2i
    angles = positions[:, None] / base ** (even / x.shape[-1])  # (T, K / 2)
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    first, second = x.chunk(2, -1)  # (..., T, K / 2) each
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
    ### END SOLUTION


# %%
check("12.B", rotate)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# How many different angles are there for T tokens of K features? Which of them depends
# on what?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `torch.arange(0, K, 2)` gives 2i for every pair. A column (T, 1) divided by a row (K /
# 2) gives a table. `x.chunk(2, -1)` cuts the last axis in two halves.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# table of angles; its cosines and sines, in the dtype of x; cut x into a and b; put (a
# cos − b sin) and (a sin + b cos) side by side.
# </details>

# %% [markdown] slide="subslide"
# Try it on our sentence. The cell turns the queries and keys of lesson 02's head with
# your function and computes all scores, once with the sentence at the beginning of a
# text and once with a thousand tokens before it. By how much will they differ? And if
# only the queries move?

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: the whole sentence moves by a thousand tokens.
# Which scores change?
#
# Expect: "none", with some doubt. With the queries alone they change a lot.
#
# Say: so no table is needed, and there is no last position. Whether the model makes
# sense of a distance that it has never met is another question.

# %% locked=true slide="skip"
mine.take("12.B", rotate)

# %% slide="fragment"
head = one_head(TIRED, layer=3, head=1)
query, key = head.query.double(), head.key.double()  # (T, K=32)
places = torch.arange(len(head.tokens))


def scores_at(of_query: Tensor, of_key: Tensor) -> Tensor:
    """Scores (T, T) of the sentence with its words at these positions."""
    return mine.rotate(query, of_query) @ mine.rotate(key, of_key).T / 32**0.5


start, later = scores_at(places, places), scores_at(places + 1000, places + 1000)
show("the sentence 1,000 tokens later", (later - start).abs().max(), digits=2)
apart = scores_at(places + 1000, places)
show("only the queries later", (apart - start).abs().max(), digits=2)
assert (later - start).abs().max() < 0.05 < (apart - start).abs().max()

# %% [markdown] slide="skip"
# The scores stay the same when the whole sentence moves, and change a lot when only the
# queries do. So no table is needed, and there is no last position. Whether a model
# makes sense of distances that it has never met in training is another matter, and you
# will measure it below.

# %% [markdown] slide="slide"
# ## Bugs from the wild: right by itself, wrong together
#
# There are two conventions for which features make a pair. The paper, and Llama's own
# code, take neighbours: 0 and 1, 2 and 3, and so on. `transformers` takes halves, as
# you did. Weights trained with one give wrong scores with the other.

# %% [markdown] slide="notes"
# **1 minute.** Ask: both versions keep lengths, and both give scores that depend on the
# distance alone. Which test would have told them apart?
#
# Expect: silence, then "compare with the other code". That is the answer.
#
# Say: a property that both have can't tell them apart. In 12.C you find the order that
# turns one into the other.

# %% [markdown] exercise="12.C"
# The cell below compares the two on the same random queries and keys. Both do what a
# rotation should, yet they agree at position 0 and nowhere else. Suppose that weights
# come from the paper's side, where neighbours are pairs, and you want to read them with
# your `rotate`. In which **order** must the eight features of each query and key be
# rearranged, so that your function gives the scores that theirs gives? Store a tuple:
# which of their features comes first, which second, ..., counted from 0.

# %% locked=true tags=["nbval-check-output"]
some = {"generator": torch.Generator().manual_seed(3)}
queries, keys = (torch.randn(6, 8, **some) for _ in range(2))  # (T=6, K=8)
turns = modern.rotation(torch.arange(6), 8, 10_000.0, queries)
later_turns = modern.rotation(torch.arange(6) + 50, 8, 10_000.0, queries)
for name, neighbours in (("halves", False), ("neighbours", True)):
    turned = modern.rotate(queries, *turns, neighbours=neighbours)
    now = turned @ modern.rotate(keys, *turns, neighbours=neighbours).T
    shifted = modern.rotate(queries, *later_turns, neighbours=neighbours) @ (
        modern.rotate(keys, *later_turns, neighbours=neighbours).T
    )
    kept = torch.allclose(turned.norm(dim=-1), queries.norm(dim=-1), atol=1e-5)
    same = torch.allclose(now, shifted, atol=1e-4)
    print(f"{name:10}  lengths stay: {kept}  distance alone: {same}")

halves = modern.rotate(queries, *turns)
gap = (halves - modern.rotate(queries, *turns, neighbours=True)).abs().amax(-1)
show("difference at positions 0 to 5", gap, digits=2)

# %% exercise="12.C"
### BEGIN SOLUTION
order = (0, 2, 4, 6, 1, 3, 5, 7)  # first all the first of a pair, then all the second
### END SOLUTION

# %%
check("12.C", order)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Feature 0 and its partner, by their convention feature 1: at which two places does
# your function look for a pair?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `queries[:, list(order)]` rearranges. Compare the scores of your rotation with those
# of `modern.rotate(..., neighbours=True)`.
# </details>

# %% [markdown]
# Whoever converts a checkpoint does this to the rows of W_q and W_k, head by head; the
# course's `modern.halves_from_neighbours` is that conversion. Remember it for your own
# tests: a property that both versions have can't tell them apart, but numbers from the
# other code can.

# %% [markdown] slide="slide"
# ## A feed-forward with a gate
#
# Your feed-forward makes each vector four times as wide, applies GELU, and brings it
# back. Today's has a **gate**, an idea that you know from the LSTM: one matrix proposes
# what to pass on, another decides how much of it.
#
# $$\mathrm{SwiGLU}(x) = \big(\mathrm{SiLU}(x W_{gate}) \odot x W_{up}\big)\, W_{down}$$
#
# with $\mathrm{SiLU}(z) = z \cdot \sigma(z)$, also called Swish; GLU is a gated linear
# unit (Shazeer 2020, section 2)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: one of the two factors is 0. What passes, whatever the other one
# says?
#
# Expect: "nothing, like the LSTM's gate". The LSTM's gate lies between 0 and 1; SiLU
# has no upper end.
#
# Say: three matrices instead of two, so 12.E makes them narrower. Why it helps, the
# paper does not explain: it speaks of divine benevolence.

# %% [markdown] slide="skip"
# SiLU looks almost like GELU: near zero for very negative numbers, near the number
# itself for large ones. What is new is the product. Without a gate, a feature in the
# middle is the GELU of one weighted sum of the inputs. With a gate it is one sum
# *times* the SiLU of another, so a feature can ask for two things at once. Is that why
# it helps? The paper finds that such gates do better than GELU at equal size, offers no
# explanation, and attributes their success to divine benevolence.

# %% [markdown] exercise="12.D"
# Write it, with three matrices and no biases.

# %% [markdown] slide="notes"
# **3 minutes.** Say: you dictate, I type. Five lines are enough.
#
# Ask: which of the two gets the SiLU? Does it matter, if both matrices are random at
# the start?
#
# Expect: "it does not matter". For training from the start it is only a name; with a
# Llama's weights it is a bug, and the check finds it.


# %% exercise="12.D"
class SwiGLU(nn.Module):
    """A feed-forward in which one product decides how much of another passes.

    Args:
        d_model: width of what comes in and goes out
        d_ff: width in between
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.W_gate = nn.Linear(d_model, d_ff, bias=False)
        self.W_up = nn.Linear(d_model, d_ff, bias=False)
        self.W_down = nn.Linear(d_ff, d_model, bias=False)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        ### BEGIN SOLUTION
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))
        ### END SOLUTION


# %%
check("12.D", SwiGLU)

# %% [markdown] slide="skip"
# <details><summary>Hint: a pointer</summary>
#
# `F.silu` is torch's SiLU, `*` multiplies feature by feature, and `nn.Linear` takes
# `bias=False`.
# </details>

# %% [markdown] exercise="12.E"
# Three matrices instead of two: at the same width that is half as much again, and a
# comparison would not be fair. GPT-2's smallest model has d_model = 768 and a d_ff of
# 3,072. How wide may a SwiGLU in its place be, if its three matrices are to have as
# many entries as the two had? (Leave the biases aside.)

# %% exercise="12.E"
### BEGIN SOLUTION
gated_width = 2048  # two thirds of 3,072
### END SOLUTION

# %%
check("12.E", gated_width)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# In terms of d_model and d_ff, how many entries do the two matrices of a feed-forward
# have, and how many the three of SwiGLU?
# </details>

# %% [markdown] slide="slide"
# ## Fewer keys than queries
#
# A cache keeps keys and values of every token, in every layer, for every head. With
# long texts, or many at once, it can fill more memory than the weights. Below are the
# sizes of Llama 3 with eight billion parameters, which has 32 heads. How many bytes
# would its cache take for a text of 8,192 tokens, in bfloat16, if each head had keys of
# its own?

# %% [markdown] slide="notes"
# **2 minutes.** Ask: which six numbers have to be multiplied? Write them on the board
# before you press.
#
# Expect: the 2 of keys and values is forgotten, or the layers.
#
# Say: four GiB for one text, and all of it is read again for each new token. A server
# answers many texts at a time.

# %% tags=["nbval-check-output"] slide="fragment"
llama3 = counting.PUBLISHED["Llama 3 8B"].config
for heads in (32, 8, 1):
    # keys and values, layers, heads, width of a head, tokens, bytes of a number
    held = 2 * llama3.num_layers * heads * llama3.d_head * 8192 * 2
    print(f"{heads:2} heads of keys and values: {held / 2**30:.3f} GiB")
assert llama3.num_kv_heads == 8

# %% [markdown] slide="subslide"
# Four GiB for a single text, and a server answers many at a time. Worse, all of this is
# read from memory for each new token. Queries are not kept, so there may be many of
# them. **Grouped-query attention** (Ainslie et al. 2023) lets neighbouring heads share:
# 32 heads of queries, but only 8 of keys and values, so that query heads 0 to 3 use the
# first of these, 4 to 7 the second, and so on. The cache shrinks to a quarter, and each
# head still has its own queries. (With one head for all this is multi-query attention.)

# %% [markdown] slide="notes"
# **2 minutes.** Say: six heads of queries, two of keys, A and B. Write the six letters
# on the board, one below each query.
#
# Ask: which order does `repeat` give, and which do we want?
#
# Expect: ABABAB from `repeat`; we want AAABBB, which is `repeat_interleave`. Both run,
# and both have the right shape.

# %% [markdown] exercise="12.F"
# Write the attention of today's decoder: no biases, shared keys, queries and keys
# rotated, and a cache. `past` is a pair of keys and values of the tokens before, as in
# 10.G; its keys are rotated already. `attention(query, key, value, mask)` returns one
# tensor, and `no_future(T, S)` is the mask of the last T of S tokens, or None where T
# is 1. Rotate with `mine.rotate`.


# %% exercise="12.F"
class GroupedQueryAttention(nn.Module):
    """Causal self-attention; config: d_model, num_heads, num_kv_heads, d_head, base."""

    def __init__(self, config: ModernConfig) -> None:
        super().__init__()
        self.config = config
        ### BEGIN SOLUTION
        wide = config.num_heads * config.d_head
        narrow = config.num_kv_heads * config.d_head
        self.W_q = nn.Linear(config.d_model, wide, bias=False)
        self.W_k = nn.Linear(config.d_model, narrow, bias=False)
        self.W_v = nn.Linear(config.d_model, narrow, bias=False)
        self.W_o = nn.Linear(wide, config.d_model, bias=False)
        ### END SOLUTION

    def forward(
        self, x: Tensor, past: tuple | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Let T new tokens, (B, T, D), look at themselves and at all before them.

        `past` has the keys, rotated, and the values of the tokens before, each of shape
        (B, H_kv, S - T, K); None: there are none. `mask` is boolean, True = may attend,
        hides the future too, broadcasts to (B, H, T, S); None hides the future alone.
        Returns (B, T, D), and keys and values of all S tokens, (B, H_kv, S, K) each.
        """
        ### BEGIN SOLUTION
        #: query = ...  # (B, H, T, K)
        #: key, value = ..., ...  # (B, H_kv, T, K) each
        few, groups = self.config.num_kv_heads, self.config.num_heads
        query = split_heads(self.W_q(x), groups)  # (B, H, T, K)
        key, value = split_heads(self.W_k(x), few), split_heads(self.W_v(x), few)
        start = 0 if past is None else past[0].shape[2]
        positions = torch.arange(start, start + x.shape[1])
        query = mine.rotate(query, positions, self.config.base)
        key = mine.rotate(key, positions, self.config.base)
        if past is not None:
            key = torch.cat([past[0], key], 2)  # (B, H_kv, S, K)
            value = torch.cat([past[1], value], 2)
        if mask is None:
            mask = no_future(x.shape[1], key.shape[2])
        shared = [part.repeat_interleave(groups // few, 1) for part in (key, value)]
        mixed = attention(query, *shared, mask)  # (B, H, T, K)
        return self.W_o(merge_heads(mixed)), (key, value)
        ### END SOLUTION


# %%
check("12.F", GroupedQueryAttention)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# What is kept for the next call, and what is made from it only for this one? And at
# which position does the first new token stand?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `repeat_interleave(n, 1)` repeats each head n times in place: 0, 0, 1, 1. `repeat`
# gives 0, 1, 0, 1. The length of the past is axis 2 of its keys.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# project and split, keys and values into few heads; positions from the length of the
# past on; rotate queries and keys; append to the past; that pair is kept; repeat the
# heads for the attention; join; W_o.
# </details>

# %% [markdown] slide="subslide"
# Count your own cache: how many bytes are in the tensors that come back? What do you
# expect for two heads and for one, if six take 46,080?

# %% [markdown] slide="notes"
# **1 minute.** Ask, before you press: six heads take 46,080 bytes. And two?
#
# Expect: a third. If it is more, somebody has kept the repeated heads.
#
# Say: what is kept for the next call are the few heads; they are repeated for this call
# alone.

# %% slide="fragment"
mine.take("12.F", GroupedQueryAttention)
for heads in (6, 2, 1):
    small = ModernConfig(100, d_model=48, num_heads=6, num_kv_heads=heads, d_head=24)
    _, pair = mine.GroupedQueryAttention(small)(torch.randn(1, 40, 48))
    held = sum(part.numel() * part.element_size() for part in pair)
    print(f"{heads} heads of keys and values: {held:6,} bytes for 40 tokens")
    assert held == 2 * heads * 24 * 40 * 4  # float32

# %% [markdown] slide="skip"
# What does it cost in quality? Ainslie and his colleagues merged heads of keys and
# values in the decoder of the largest T5, and trained it 5 % longer. Its average over
# seven tasks (table 1) is 47.2 with all heads, 47.1 with eight and 46.6 with one. *Old
# against new* has numbers for our stories.

# %% [markdown] slide="slide"
# ## What went without a word
#
# Two more things are missing. **Biases** are gone from every matrix: the authors of
# PaLM (Chowdhery et al. 2022, section 2) left them out and report that large models
# trained more stably. And the output is no longer **tied**: it has a matrix of its own.
# How much does that cost, in a small model and in a large one?

# %% [markdown] slide="notes"
# **1 minute.** Ask: GPT-2 has 124 million parameters. How many more, in per cent, would
# a second table be? And for Llama 3?
#
# Expect: far too little for GPT-2. It would add 31 % there, and is 6.5 % of Llama 3 8B.
#
# Say: so one ties where the table is a large part of the model.

# %% tags=["nbval-check-output"] slide="fragment"
with torch.device("meta"):  # only sizes exist there
    gpt2 = gpt.GPT(gpt.GPTConfig(50_257, 1024, 768, 12, 12))
whole = sum(p.numel() for p in gpt2.parameters())
table = gpt2.embedding.weight.numel()
print(f"GPT-2: a second table would add {table / whole:.0%} to {whole / 1e6:.0f} M")
parts = counting.parameters(llama3)
print(
    f"Llama 3 8B: {parts['output'] / sum(parts.values()):.1%} are the output's matrix"
)

# %% [markdown] slide="skip"
# For GPT-2 a second table would have been a luxury. Among eight billion parameters it
# is a small share, and the table that reads no longer has to be the one that scores.
# Many small models still tie. What has *not* changed is pre-norm: the residual stream
# passes each sublayer untouched, and one more norm stands at the very end.

# %% [markdown] slide="slide"
# ## The whole, against the library
#
# The block below is that of lesson 10 with the new parts, taken from `mine`.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: cover the names of the classes. Could this be lesson 10's block?
#
# Expect: yes, line by line: norm, attention, add, norm, feed-forward, add.
#
# Say: what has *not* changed is pre-norm. The residual stream passes each sublayer
# untouched, and 12.G in the lab puts one more norm at the end.

# %% locked=true
mine.take("12.A", RMSNorm)
mine.take("12.D", SwiGLU)
mine.take("12.F", GroupedQueryAttention)


class ModernBlock(nn.Module):
    """Look back, then think: a block of today's decoder."""

    def __init__(self, config: ModernConfig) -> None:
        super().__init__()
        self.norm1 = mine.RMSNorm(config.d_model, config.eps)
        self.attention = mine.GroupedQueryAttention(config)
        self.norm2 = mine.RMSNorm(config.d_model, config.eps)
        self.feed_forward = mine.SwiGLU(config.d_model, config.d_ff)

    def forward(self, x, past=None, mask=None):
        """(B, T, D) -> (B, T, D), and the pair of keys and values of all S tokens."""
        found, pair = self.attention(self.norm1(x), past, mask)
        x = x + found
        return x + self.feed_forward(self.norm2(x)), pair


# %% [markdown] exercise="12.G"
# Build the model. There is no table of positions, and nothing is added to the
# embedding. `past` has a pair for each block, and so has what you return.


# %% exercise="12.G"
class ModernGPT(nn.Module):
    """Ids in, a score for every next token out; `config` holds all sizes."""

    def __init__(self, config: ModernConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.norm = mine.RMSNorm(config.d_model, config.eps)  # the last one
        # Beside these: layers, an nn.ModuleList of blocks, and output, an nn.Linear.
        ### BEGIN SOLUTION
        self.layers = nn.ModuleList(
            ModernBlock(config) for _ in range(config.num_layers)
        )
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        ### END SOLUTION
        self.apply(gpt.initialise)  # small random numbers, as in lesson 10

    def forward(
        self, ids: Tensor, past: list | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, list]:
        """Score the next token at every place: ids (B, T) to logits (B, T, V).

        `past` has a pair of keys and values for each block, or is None at the start;
        `mask` is for all blocks, as in `GroupedQueryAttention`. Returns the logits, and
        a new list with a pair for each block.
        """
        ### BEGIN SOLUTION
        x, new = self.embedding(ids), []  # (B, T, D)
        for number, layer in enumerate(self.layers):
            x, pair = layer(x, None if past is None else past[number], mask)
            new.append(pair)
        return self.output(self.norm(x)), new
        ### END SOLUTION


# %%
check("12.G", ModernGPT)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# What goes from block to block, and what is collected on the way?
# </details>
# <details><summary>Hint 2: pseudocode</summary>
#
# look up; for each block: put x, its own pair of the past and the mask in, keep what
# comes out, collect the pair; last norm; output.
# </details>

# %% [markdown] slide="subslide"
# Now your model takes the weights of the Llama, and both read our sentence. The library
# casts some steps to float32, whatever the model's dtype is, so expect a difference of
# at most 1e-5 in float32, and of 1e-6 in float64.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: their weights, our code. How far apart may the logits be?
#
# Expect: "equal". Rounding differs, as it did with BERT and GPT-2. In float64 the rest
# comes from the library: it casts some steps to float32.
#
# Say: most of today's mistakes raise no error. Numbers from the other code find them.

# %% slide="fragment"
mine.take("12.G", ModernGPT)


def with_weights_of(theirs) -> nn.Module:
    """Your model, with the weights of a Llama of `transformers`."""
    config = read_config(theirs.config.to_dict())
    model = mine.ModernGPT(config).to(theirs.dtype)
    state = from_transformers(theirs.state_dict(), config)
    model.load_state_dict(model.state_dict() | state)  # buffers, if you have any, stay
    return model.eval()


ids = tokenizer(TIRED, return_tensors="pt").input_ids  # (B=1, T)
with torch.no_grad():
    for dtype, close in ((torch.float32, 1e-5), (torch.float64, 1e-6)):
        theirs = tiny("Llama", dtype)
        ours = with_weights_of(theirs)
        wanted = theirs(ids).logits  # (B, T, V)
        gap = (ours(ids)[0] - wanted).abs().max().item()
        print(f"{dtype}: largest difference {gap:.0e}")
        assert gap < close and wanted.std() > 0.3
print(mine)

# %% [markdown] slide="skip"
# Two things remain to be tested, because a server needs both: a cache, and texts of
# different lengths side by side. Such texts are padded on the **left**, so that all of
# them end in the last column. The mask hides the padding; a padded place may see
# itself, because in many libraries a row that sees nothing becomes NaN. The positions
# of the shorter text then begin late, which does no harm, because only distances enter
# the scores.

# %% slide="skip"
short = tokenizer("The animal was tired.", return_tensors="pt").input_ids
lost = ids.shape[1] - short.shape[1]
both = torch.cat([ids, F.pad(short, (lost, 0))])  # (B=2, T), padded on the left
real = torch.ones_like(both, dtype=torch.bool)
real[1, :lost] = False


def mask_for(real: Tensor, new: int) -> Tensor:
    """(B, S) -> (B, 1, T, S): no future and no padding, but each place sees itself."""
    length = real.shape[1]
    past = torch.ones(new, length, dtype=torch.bool).tril(length - new)
    itself = torch.eye(length, dtype=torch.bool)[-new:]
    return past & real[:, None, None] | itself


with torch.no_grad():
    wanted = theirs(both, attention_mask=real.long()).logits[real]
    past, pieces = None, []
    for piece in both.split((5, 1, both.shape[1] - 6), 1):  # as if it were written
        read = 0 if past is None else past[0][0].shape[2]
        seen = real[:, : read + piece.shape[1]]
        logits, past = ours(piece, past, mask_for(seen, piece.shape[1]))
        pieces.append(logits)
gap = (torch.cat(pieces, 1)[real] - wanted).abs().max().item()
print(f"padded, in three pieces with a cache: largest difference {gap:.0e}")
assert gap < 1e-6

# %% [markdown] slide="slide"
# ## Let it learn
#
# Train your decoder on the sonnets of lesson 10, on pieces of 64 characters, for a
# minute at most on most machines. Where will its loss begin?

# %% [markdown] slide="notes"
# **1 minute.** Say: it trains while we guess. (Start it first.)
#
# Ask: 61 characters, and it knows nothing yet. At which loss does it begin?
#
# Expect: "at 1", "at 61". It is the logarithm of 61, which is 4.11.

# %% slide="skip"
train_text, held_out_text = split_text(load_text())
characters = Characters.of(load_text())
letters, held_out = characters.encode(train_text), characters.encode(held_out_text)
sizes = ModernConfig(len(characters), d_model=64, d_head=16, num_layers=2, d_ff=172)
STEPS = 250


def next_letter_loss(model: nn.Module, text: Tensor) -> Tensor:
    """Cross-entropy of the next character of pieces (B, T + 1), in nats."""
    logits, _ = model(text[:, :-1])
    return F.cross_entropy(logits.transpose(1, 2), text[:, 1:])


def one_step(kind: type[nn.Module]) -> None:
    """What a step of training does."""
    next_letter_loss(kind(sizes), letters[:65][None]).backward()


mine.take("12.G", ModernGPT, step=one_step)
torch.manual_seed(12)
writer = mine.ModernGPT(sizes)
history = training.train(
    writer,
    windows(letters, batch_size=32, length=64, seed=0),
    next_letter_loss,
    torch.optim.AdamW(writer.parameters(), lr=4e-3, betas=(0.9, 0.98)),
    STEPS,
    schedule=lambda step: min(1, step / 30) * training.half_cosine(4e-3, step, STEPS),
    clip=1.0,
)
print(f"loss at first {history.loss[0]:.2f}, at last {history.loss[-1]:.2f}")

# %% [markdown] slide="fragment"
# At first the loss is that of guessing among 61 characters, ln 61 = 4.11. Now let it
# write, with its cache: after the first call it reads one character at a time.

# %% slide="fragment"
draws = torch.Generator().manual_seed(1)
new, past, text = characters.encode("Shall I compare")[None], None, "Shall I compare"
with torch.no_grad():
    for _ in range(120):
        logits, past = writer.eval()(new, past)
        chances = (logits[:, -1] / 0.7).softmax(-1)
        new = torch.multinomial(chances, 1, generator=draws)
        text += characters.decode(new[0])
print(text)

# %% [markdown] slide="subslide"
# ### Beyond what it has trained on
#
# Your model has never seen two characters more than 63 places apart, but it can read
# 256 at once. Draw the bits per character that you expect along the way. For
# comparison, it also reads pieces of 64.

# %% [markdown] slide="notes"
# **1 minute.** Ask: draw the curve in the air. Do the bits fall, stay or rise from
# place 64 on?
#
# Expect: "they fall, it has seen more". They rise: a little at first, and far more
# beyond 128.
#
# Say: no table of positions does not mean no limit. What a head does with a distance
# was learned, and only up to 63.

# %% slide="fragment"
rows = held_out[: len(held_out) // 257 * 257].view(-1, 257)  # (B, 256 + 1)


def bits_along(model: nn.Module, rows: Tensor, mask: Tensor | None = None) -> Tensor:
    """Bits per character at each place, (T)."""
    with torch.no_grad():
        logits, _ = model(rows[:, :-1], None, mask)
        lost = F.cross_entropy(logits.transpose(1, 2), rows[:, 1:], reduction="none")
    return lost.mean(0) / math.log(2)


at_once = bits_along(writer, rows)
pieces = [bits_along(writer, rows[:, at : at + 65]) for at in (0, 64, 128, 192)]
for number, piece in enumerate(pieces):
    first, last = 64 * number, 64 * number + 63
    bits = at_once[first : last + 1].mean().item()
    print(f"places {first:3} to {last:3}: at once {bits:.2f} bits, "
          f"in pieces {piece.mean().item():.2f}")  # fmt: skip
assert at_once[128:].mean() > pieces[3].mean() + 0.5

# %% [markdown] slide="skip"
# In pieces the bits are about the same everywhere. At once, they rise a little beyond
# the 64 of training, and then far more. A rotation can be computed for every distance,
# but what a head does with it was learned, and only up to 63, in this one small model.
# *Going further* has a remedy.

# %% [markdown] slide="slide"
# ## Old against new
#
# Is the new block better than the old one? Both have learned stories of our world, with
# about 957,000 parameters each: what a part adds is taken from the feed-forwards. Both
# read the same 1,500 batches of 8 times 256 tokens, each at the best of four learning
# rates, with three seeds.

# %%
show_figure(
    draw.contest(two_blocks.STEPS, two_blocks.BITS, two_blocks.SECONDS),
    "Two panels with the bits per byte of held-out stories, against steps and against "
    "seconds. In both, both curves fall from 3.4. Today's block falls fast, to 0.63 "
    "after a third of the way, and ends at 0.30. GPT-2's is still at 1.46 there, falls "
    "later, and ends at 0.55. The panels look alike, for a step of either takes about "
    "the same time.",
)

# %% [markdown] slide="notes"
# **1 minute.** Ask: which of the six parts was it? Everybody chooses one.
#
# Expect: votes for the gate, because it is the largest change, and a few for rotation.
#
# Say: the positions. With learned ones today's block needs 0.57 bits; no other part
# moves it by more than 0.02. The table is in the notebook. What is claimed is as narrow
# as the training: a million parameters, 1,500 steps, our stories.

# %% [markdown] slide="subslide"
# At the end GPT-2's block needs 0.555 bits for a byte of a story that it has not read,
# today's 0.299, and their steps take about equally long. Which of the six parts is it?
# Choose one, then open the table.

# %% [markdown] slide="skip"
# <details><summary>Which part it is</summary>
#
# In each row one part of today's block is as GPT-2 has it.
#
# | one part as GPT-2 has it | bits per byte, seeds 0, 1, 2 |
# |---|---|
# | none: today's block | 0.301, 0.301, 0.297 |
# | learned positions | 0.583, 0.555, 0.580 |
# | a feed-forward of two layers | 0.315, 0.314, 0.310 |
# | layer norm | 0.299, 0.307, 0.304 |
# | biases | 0.305, 0.302, 0.298 |
# | as many heads of keys as of queries | 0.302, 0.298, 0.299 |
# | tied output | 0.286, 0.287, 0.297 |
#
# It is the rotation: with learned positions today's block is about where GPT-2's was.
# The gate gives a little, 0.013 or 0.014 of a bit with every seed. What the norm, the
# biases and the heads of keys change, three seeds can't tell from chance, so half the
# cache costs nothing that shows here. The second table for the output seems not to be
# worth its parameters.
#
# But look at the curves: GPT-2's block learns later, and it does learn. After twice the
# steps, over twice the stories and with one seed alone, it needs 0.30 bits and today's
# 0.24. So most of what the rotation gave was time: it tells distances from the first
# step on, while a table of positions has to be learned. All this holds for a million
# parameters and a simple world, with each part at the rate that suits today's block.
# </details>

# %% [markdown] slide="slide"
# ## Going further
#
# From here on everything is optional: what a published model costs, the one change that
# Qwen3 makes, a window that slides, and what lies beyond a laptop.

# %% [markdown] slide="slide"
# ### What does it cost?
#
# A model's page on the Hub has a file `config.json`. It is enough to count what the
# model needs, before a single weight is downloaded. Here are the entries of Llama 3 8B
# that matter.

# %% tags=["nbval-check-output"]
published = counting.PUBLISHED["Llama 3 8B"]
print(published.page, published.released)
facts = {
    name: published.facts[name]
    for name in (
        "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
        "num_attention_heads", "num_key_value_heads", "tie_word_embeddings",
    )
}  # fmt: skip
for name, value in facts.items():
    print(f"  {name}: {value}")

# %% [markdown] exercise="12.H"
# Count three things: the parameters, the bytes of a cache in bfloat16 (two bytes for a
# number), and the floating-point operations for one new token. If there is an entry
# `head_dim`, it is the width of a head; otherwise that is hidden_size divided by the
# number of heads.


# %% exercise="12.H"
def count_parameters(facts: dict) -> int:
    """How many numbers a Llama learns: a norm counts, and a tied output only once.

    Args:
        facts: what its config.json says
    """
    ### BEGIN SOLUTION
    width, heads = facts["hidden_size"], facts["num_attention_heads"]
    d_head = facts.get("head_dim") or width // heads
    attention = 2 * (heads + facts["num_key_value_heads"]) * d_head * width
    layer = attention + 3 * width * facts["intermediate_size"] + 2 * width
    tables = 1 if facts["tie_word_embeddings"] else 2
    table = facts["vocab_size"] * width
    return facts["num_hidden_layers"] * layer + width + tables * table
    ### END SOLUTION


def cache_bytes(facts: dict, length: int) -> int:
    """How many bytes the keys and values of one text of this length take."""
    ### BEGIN SOLUTION
    d_head = facts.get("head_dim") or (
        facts["hidden_size"] // facts["num_attention_heads"]
    )
    token = 2 * facts["num_hidden_layers"] * facts["num_key_value_heads"] * d_head
    return token * length * 2
    ### END SOLUTION


def flops_per_token(facts: dict, length: int) -> int:
    """Operations of all matrix products for a new token that attends to `length`.

    Two for each entry of a matrix, a product and a sum. The output is such a matrix,
    also where it is tied; norms, rotations, the softmax and the look-up in the
    embedding are left out.
    """
    ### BEGIN SOLUTION
    width, heads = facts["hidden_size"], facts["num_attention_heads"]
    d_head, layers = facts.get("head_dim") or width // heads, facts["num_hidden_layers"]
    attention = 2 * (heads + facts["num_key_value_heads"]) * d_head * width
    matrices = layers * (attention + 3 * width * facts["intermediate_size"])
    matrices += facts["vocab_size"] * width
    looks = layers * 2 * heads * d_head * length  # scores, and the sum of the values
    return 2 * (matrices + looks)
    ### END SOLUTION


# %%
check("12.H", count_parameters, cache_bytes, flops_per_token)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Write down the shapes of the seven matrices of a block. Which of them depend on the
# number of heads of keys?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# A score costs as many products as a head is wide, and so does adding a value. Every
# head of queries does both with every token it attends to.
# </details>

# %%
mine.take("12.H", count_parameters, cache_bytes, flops_per_token)
for name in ("SmolLM2 135M", "Llama 3 8B"):
    model = counting.PUBLISHED[name]
    size = mine.count_parameters(model.facts)
    cache = mine.cache_bytes(model.facts, 8192)
    work = mine.flops_per_token(model.facts, 8192)
    print(f"{name:13} ({model.released}): {size / 1e9:.3f} billion parameters,")
    print(f"  {cache / 2**20:,.0f} MiB of cache and {work / 1e9:.1f} GFLOPs a token "
          f"at 8,192 tokens")  # fmt: skip

# %% [markdown] slide="slide"
# ### One more change: Qwen3
#
# Qwen3 (Qwen Team 2025, section 2) norms every query and every key, head by head,
# before they are rotated, to keep training stable. Your model needs one small module
# for that. W_q gives the queries of all heads, so put a norm of each head behind it,
# and behind W_k too:

# %%
mine.take("12.A", RMSNorm)


class HeadNorm(nn.Module):
    """An RMS norm for each head, (..., H K) -> (..., H K)."""

    def __init__(self, d_head: int, eps: float) -> None:
        super().__init__()
        self.norm, self.d_head = mine.RMSNorm(d_head, eps), d_head

    def forward(self, x: Tensor) -> Tensor:
        """Norm what belongs to one head alone."""
        return self.norm(x.unflatten(-1, (-1, self.d_head))).flatten(-2)


theirs = tiny("Qwen3", torch.float64)
config = read_config(theirs.config.to_dict())
qwen = mine.ModernGPT(config).double()
for layer in qwen.layers:
    for name in ("W_q", "W_k"):
        both_steps = nn.Sequential(
            getattr(layer.attention, name), HeadNorm(config.d_head, config.eps)
        )
        setattr(layer.attention, name, both_steps.double())
state = from_transformers(theirs.state_dict(), config)
for name in list(state):  # W_q.weight is W_q.0.weight now, q_norm the norm behind it
    renamed = name.replace("W_q.", "W_q.0.").replace("W_k.", "W_k.0.")
    renamed = renamed.replace("q_norm.", "W_q.1.norm.").replace(
        "k_norm.", "W_k.1.norm."
    )
    state[renamed] = state.pop(name)
qwen.load_state_dict(state)
with torch.no_grad():
    gap = (qwen(ids)[0] - theirs(ids).logits).abs().max().item()
print(f"largest difference from Qwen3: {gap:.0e}")
assert gap < 1e-6

# %% [markdown] slide="slide"
# ### A window that slides
#
# Your writer loses its way beyond 64 characters. But who says that it has to look so
# far back? Give it a **sliding window**: each character sees itself and the 63 before
# it. No distance is then larger than in training, and a cache never needs more than 64
# entries.

# %% [markdown] exercise="12.J"
# Write the mask, for the last `queries` of `keys` tokens. `window` counts the token
# itself. The first `sinks` tokens of the text stay visible for all that come after
# them; you will read below what these are good for.


# %% exercise="12.J"
def window_mask(queries: int, keys: int, window: int, sinks: int = 0) -> Tensor:
    """Who sees whom, if everybody sees the nearest of the past and its beginning.

    Args:
        queries: T, the last tokens of the text
        keys: S, all tokens of the text
        window: how many tokens a token sees, itself included
        sinks: how many at the beginning are seen besides

    Returns:
        (T, S), boolean, True = may attend; no token sees a later one
    """
    ### BEGIN SOLUTION
    place = torch.arange(keys - queries, keys)[:, None]  # (T, 1)
    column = torch.arange(keys)  # (S)
    near = place - column < window
    return (column <= place) & (near | (column < sinks))
    ### END SOLUTION


# %%
check("12.J", window_mask)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# At which positions do the last T of S tokens stand? And how far back is a column then?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# A column of positions minus a row of positions gives a table of distances. Combine
# conditions with `&` and `|`, in brackets.
# </details>

# %%
mine.take("12.J", window_mask)
far = {None: at_once[192:].mean().item()}
for window in (64, 16):
    along = bits_along(writer, rows, mine.window_mask(256, 256, window))
    far[window] = along[192:].mean().item()
print(f"places 192 to 255: everything seen {far[None]:.2f} bits, a window of 64 "
      f"{far[64]:.2f}, of 16 {far[16]:.2f}")  # fmt: skip
assert far[None] > far[64] + 0.5 and abs(far[16] - far[64]) < 0.1

# %% [markdown]
# At the far end the window brings the loss back to where it was on short pieces, and no
# weight has changed: only distances that training has shown are left. Through two
# layers a character could still learn of one 126 places back, because each looks back
# by 63; but this small writer hardly looks back, and 16 places serve it nearly as well.
# The first version of Mistral 7B (Jiang et al. 2023, arXiv 2310.06825) has such
# windows, of 4,096 tokens; the second has none.

# %% [markdown] slide="subslide"
# ### Attention sinks
#
# In many trained models a good part of the weight goes to the first token of the text,
# whatever it is. The usual explanation is that a softmax has to give its weight to
# something, and a head that finds nothing puts it where it does no harm. Such tokens
# are called **attention sinks** (Xiao et al. 2023), and you have met something like it:
# `[CLS]`, in the head of lesson 02. Does the storyteller have one too? It has 32 heads.
# Guess how much the strongest of them gives to the first token.

# %% tags=["nbval-check-output"]
for length in (12, 100):
    shares = [
        weights[:, :, -1, 0].mean(0)  # (H), what the last token gives to the first
        for weights in gpt.attention_weights(storyteller, stories[:, :length])
    ]
    strongest = torch.stack(shares).max().item()
    print(f"token {length:3}: {strongest:.2f} on the first, equal {1 / length:.2f}")
rows_on_cls = (head.weights[1:, 0] > 0.5).sum().item()
others = len(head.tokens) - 1
print(f"lesson 02: {rows_on_cls} of {others} other tokens give [CLS] more than 0.5")

# %% [markdown]
# Early in a story one head gives the first token more than three times an equal share.
# At token 100 no head gives it more than two hundredths, so not every model has a sink
# to speak of. Where one has, a window that slides away from the first token takes the
# sink from all heads at once. Xiao and his colleagues report that the loss of large
# models then rises steeply, and that it is enough to keep the first four tokens in the
# cache. That is what `sinks` in your mask is for. They also count positions *within the
# cache*, so that a sink never gets further away. What happens to your writer, whose
# sinks stay where they are?

# %%
sinks = [
    bits_along(writer, rows, mine.window_mask(256, 256, 64, count))[64:].mean().item()
    for count in (0, 4)
]
print("places 64 to 255: {:.2f} bits, with four sinks {:.2f}".format(*sinks))
assert sinks[1] > sinks[0] + 0.1

# %% [markdown] slide="skip"
# It gets worse: the sinks are back at distances that training has never shown.

# %% [markdown] slide="slide"
# ### Beyond a laptop, in five numbers
#
# Each of the following has a literature of its own. For each, one small calculation
# shows what it is for.

# %% [markdown]
# **Mixture of experts.** A feed-forward is replaced by several, the **experts**, and a
# small layer, the router, sends each token to a few of them. So a model can have many
# more parameters than a token uses. Mixtral 8x7B (Jiang et al. 2024, arXiv 2401.04088,
# table 1) has 8 experts in each layer, and a token uses 2.

# %% tags=["nbval-check-output"]
mixtral = ModernConfig(32_000, 32_768, 4096, 32, 8, 128, 32, 14_336)
counted = counting.parameters(mixtral)
expert = counted["feed-forward"]
others = sum(counted.values()) - expert
print(f"held {(others + 8 * expert) / 1e9:.1f} billion, "
      f"used for a token {(others + 2 * expert) / 1e9:.1f} billion")  # fmt: skip

# %% [markdown]
# **Long context.** The cache grows with the text. With 131,072 tokens, 16 times as many
# as Llama 3 was trained on, it would be as large as the model. How RoPE is stretched
# for such lengths is the subject of *YaRN* (Peng et al. 2023, arXiv 2309.00071).

# %% tags=["nbval-check-output"]
held = counting.cache_bytes(llama3, 131_072)
weights_held = 2 * sum(counting.parameters(llama3).values())  # in bfloat16
print(f"Llama 3 8B, 131,072 tokens: cache {held / 2**30:.0f} GiB, "
      f"weights {weights_held / 2**30:.0f} GiB")  # fmt: skip

# %% [markdown]
# **Quantisation.** Weights are rounded to a few levels, so that they need fewer bits;
# each row or small group has a scale of its own. Four bits make eight billion
# parameters fit into a laptop. Here the matrices of the storyteller's blocks are
# rounded to 15 levels, row by row, which is the plainest way. Better ones take the
# inputs of each layer into account (Frantar et al. 2022, *GPTQ*, arXiv 2210.17323).

# %% tags=["nbval-check-output"]
import copy

rounded = copy.deepcopy(storyteller)
with torch.no_grad():
    for part in rounded.layers.modules():
        if isinstance(part, nn.Linear):
            scale = part.weight.abs().amax(1, keepdim=True) / 7
            part.weight.copy_((part.weight / scale).round() * scale)
    print(f"loss {loss(before):.3f}, rounded to four bits {loss(rounded(stories)):.3f}")
print(
    f"Llama 3 8B: {weights_held / 1e9:.1f} GB in 16 bits, {weights_held / 4e9:.1f} in 4"
)

# %% [markdown]
# **Speculative decoding.** A small model guesses some tokens, and the large one checks
# all of them in a single call. The first rejected guess is replaced, by a rule under
# which the texts have the large model's distribution. If each guess is accepted with
# probability α, independently of the others, then with γ guesses a call gives (1 −
# α^(γ+1)) / (1 − α) tokens on average (Leviathan et al. 2023, arXiv 2211.17192,
# equation 1).

# %% tags=["nbval-check-output"]
accepted, guesses = 0.8, 4
print(f"{(1 - accepted ** (guesses + 1)) / (1 - accepted):.2f} tokens for each call")

# %% [markdown]
# **Preference optimisation.** People, or programs, say which of two answers is better,
# and the model learns to prefer it. DPO (Rafailov et al. 2023, arXiv 2305.18290) needs
# no reward model: its loss compares how much more likely each answer has become since
# the start. A model that has not changed has the loss ln 2.

# %% tags=["nbval-check-output"]
for better, worse in ((0.0, 0.0), (2.0, -2.0)):  # nats won by each of two answers
    margin = torch.tensor(0.1 * (better - worse))  # β = 0.1
    print(f"better {better:+.0f}, worse {worse:+.0f}: {-F.logsigmoid(margin):.3f}")

# %% [markdown] exercise="12.K" slide="slide"
# You maintain a GPT-2 of lesson 10's kind that answers questions about long documents,
# on one machine whose memory is full. You may replace one part of its block by today's,
# and train again from the start. Which part do you choose, what will it change for your
# users, and what would you measure before you believe that nothing got worse? Write
# five or six sentences.

# %% [markdown] answer="12.K"
# ### BEGIN SOLUTION
# **Model answer.** The memory is full because of the cache: keys and values of every
# token, layer and head. So I choose grouped-query attention. With a quarter of the
# heads of keys and values the cache of a document takes a quarter of the bytes, so four
# times as many documents, or documents four times as long, fit beside the weights; the
# length is still limited by the table of positions, which RoPE would lift, but that
# frees no memory. RMS norm and SwiGLU would change next to nothing about the cache.
# Before I believe that quality did not suffer I train both models with as many
# parameters, on the same text, each at its best learning rate and with three seeds, and
# compare the held-out loss with its spread. And because the loss is an average, I also
# look at what my users need: questions whose answer stands far back in the document.
#
# **Rubric (3 points).** 1: names a part and what it does to memory or to length, with a
# reason that is right. 1: says what the other changes would not do, or what the chosen
# one leaves unsolved. 1: a fair comparison: equal size, a rate for each side, several
# seeds, and a measure that fits the task.
# ### END SOLUTION

# %% [markdown] slide="slide"
# ## What you can do now
#
# You can open the code of a current open model and read it: an RMS norm before each
# sublayer, queries and keys that are rotated, few heads of keys for many of queries, a
# feed-forward with a gate, no biases, an output of its own. You have written each of
# these, your model gives a Llama's logits with a Llama's weights, and from its
# `config.json` you can say what a model costs before you download it.
#
# This is the last lesson. What you have now is a way of working as much as a model:
# build it small, compare it with something that you did not write, and claim only what
# you have measured. Take a model that you care about, and start with its block.

# %% [markdown] slide="notes"
# **1 minute.** Ask: which of today's parts would you put into your own GPT first, and
# what would you measure?
#
# Expect: "the positions", because of the table's end, or the keys, because of the
# memory.
#
# Say: open the `config.json` of a model that you use. 12.H in the lab tells you from it
# what that model needs.

# %% [markdown] slide="skip"
# **References.** Zhang and Sennrich 2019, *Root Mean Square Layer Normalization* (arXiv
# 1910.07467). Su et al. 2021, *RoFormer* (arXiv 2104.09864). Shazeer 2020, *GLU
# Variants Improve Transformer* (arXiv 2002.05202). Ainslie et al. 2023, *GQA* (arXiv
# 2305.13245). Touvron et al. 2023, *LLaMA* (arXiv 2302.13971). Chowdhery et al. 2022,
# *PaLM* (arXiv 2204.02311). Xiao et al. 2023, *Efficient Streaming Language Models with
# Attention Sinks* (arXiv 2309.17453). Beltagy et al. 2020, *Longformer* (arXiv
# 2004.05150), for sliding windows. Qwen Team 2025, *Qwen3* (arXiv 2505.09388).
