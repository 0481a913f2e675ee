# %% [markdown] slide="slide"
# # 03 Multi-head attention: several angles at once
#
# **What if a word needs two things from its sentence, and one set of weights is too
# few?**
#
# You need: lesson 02, or its ideas: query, key, value, softmax, a mask. Time:
# {minutes}. Everything runs on your laptop's CPU.

# %% [markdown] slide="subslide"
# At the end of this lesson you can
#
# - cut a batch of vectors into heads and put it together without mixing up tokens;
# - write the multi-head attention of the paper as a module, masks included;
# - load a layer of a real pretrained encoder into *your* module and get its
#   attention;
# - say what a head looks at, with a number, and find a head that looks at its
#   neighbour;
# - catch four famous bugs, two of which raise no error.

# %% [markdown] slide="notes"
# 45 minutes: why (5), projection by hand (5), live coding of 3.A and 3.C (15), the
# bugs 3.B and 3.L (8), loading the real layer and looking at its heads (12). Leave
# 3.E, 3.J and 3.M for the lab. Usual trouble: `view` where a transpose is due, in
# either direction.

# %%
import torch
from torch import Tensor, nn

from helpers import pretrained, show
from helpers.checks import check
from helpers.figures import bertviz_view as bertviz
from helpers.figures import multi_head as draw
from helpers.figures import show_figure
from helpers.figures.play import play
from helpers.models import multi_head as course
from helpers.models.attention import attention
from helpers.student.own_parts import OwnParts

_ = torch.manual_seed(3)

# %% [markdown]
# **Letters in shape comments**, the same in every lesson: `B` batch, `T` query
# length, `S` key length, `D` d_model, `H` heads, `K` d_head, the width of one head.
# *Weights* are what comes out of the softmax. A mask is boolean, and True means "may
# attend".

# %% [markdown] slide="slide"
# ## Why: a mean forgets who was who
#
# > The dog bit the man.
#
# *bit* needs two things: who bites, and who is bitten. One head has one set of
# weights and returns one mean. Half of *dog* plus half of *man* is the same for both
# stories.

# %% tags=["nbval-check-output"]
dog, man = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])  # two values

show("one head, dog bites man", (dog + man) / 2)
show("one head, man bites dog", (man + dog) / 2)
show("two heads, dog bites man", torch.cat([dog, man]))  # who bites | who is bitten
show("two heads, man bites dog", torch.cat([man, dog]))

# %% [markdown]
# Two heads, each with weights of its own, keep the two answers apart: they are laid
# side by side, not mixed. (A head can only tell the roles apart if the vectors know
# their positions; lesson 01 gave them those.)

# %% [markdown] slide="slide"
# ## By hand: another angle on the same vector
#
# How does a head get its own view? By a projection. Take a pencil: what does the
# matrix A make of the vector v = (1, 1)?
#
# $$A = \begin{pmatrix} -0.7 & 1 \\ 1 & -0.2 \end{pmatrix}$$

# %% tags=["nbval-check-output"]
A = torch.tensor([[-0.7, 1.0], [1.0, -0.2]])
v = torch.tensor([1.0, 1.0])

show("A v", A @ v)  # row times vector: -0.7 + 1, 1 - 0.2
show("length of v", v.norm())  # not a unit vector, whatever blogs say
show("as a dense layer", nn.functional.linear(v, A))

# %% slide="fragment"
show_figure(
    draw.plane(A, v),
    "The plane as a square grid with the vector (1, 1), and the same plane after A: "
    "the grid is slanted and mirrored, and the vector has moved to (0.3, 0.8).",
)

# %% [markdown]
# The whole plane turned, and what pointed apart may now point together. A projection
# is a dense layer without a bias. What A does is *learned*: each head learns the
# angle from which it compares words, in fewer numbers than the words have.

# %% [markdown] slide="slide"
# ## The formula
#
# $$\mathrm{head}_i = \mathrm{Attention}(QW_i^Q,\; KW_i^K,\; VW_i^V)$$
#
# $$\mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots,
# \mathrm{head}_h)\,W^O$$
#
# (Vaswani et al. 2017, section 3.2.2)

# %% slide="fragment"
show_figure(
    draw.way(4),
    "Query, key and value each go through a layer of width D. The results are shared "
    "out among four heads. What they find is laid side by side and goes through W_o.",
)

# %% [markdown]
# The trick that everybody uses: don't keep a small matrix for each head. Keep one of
# width D, and *cut its result* into H pieces of K = D / H numbers. The pieces become
# an axis beside the batch, and the attention of lesson 02 runs on all of them at
# once.

# %% [markdown] exercise="3.A"
# Write the cut and its inverse. Head 0 gets the first K features of each token, head
# 1 the next K, and so on.


# %% exercise="3.A"
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Cut the width into heads: (B, T, D) -> (B, H, T, K) with K = D / H.

    Args:
        x: (B, T, D)
        num_heads: H, a divisor of D
    """
    batch, length, d_model = x.shape
    ### BEGIN SOLUTION
    #: heads = ...  # (B, T, H, K)
    heads = x.reshape(batch, length, num_heads, d_model // num_heads)  # (B, T, H, K)
    return heads.transpose(1, 2)  # (B, H, T, K)
    ### END SOLUTION


def merge_heads(x: Tensor) -> Tensor:
    """Lay the heads side by side again: (B, H, T, K) -> (B, T, H * K)."""
    batch, num_heads, length, d_head = x.shape
    ### BEGIN SOLUTION
    #: tokens = ...  # (B, T, H, K)
    tokens = x.transpose(1, 2)  # (B, T, H, K)
    return tokens.reshape(batch, length, num_heads * d_head)  # (B, T, D)
    ### END SOLUTION


# %%
check("3.A", split_heads, merge_heads)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Cutting D into (H, K) changes the last axis only. In which order are the axes then,
# and in which order should they be?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `transpose(1, 2)` swaps two axes. After it, `reshape` works and `view` may not: the
# numbers no longer lie in memory in the order of the axes.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# split: cut the last axis into H and K, then swap length and heads. merge: swap them
# back, then join the last two axes.
# </details>

# %% [markdown]
# Look at it. In this table 12 means "token 1, feature 2", so you can see where every
# number went:

# %%
table = torch.tensor([[10 * t + f for f in range(4)] for t in range(3)])  # (T=3, D=4)
show("your heads", split_heads(table[None], 2)[0])  # (H=2, T=3, K=2)
same = torch.equal(merge_heads(split_heads(table[None], 2))[0], table)
print("merged again, as before:", same)

# %% [markdown] exercise="3.B" slide="slide"
# A bug that raises no error. Somebody reshapes straight to (H, T, K). The shape is
# right. In **row 1 of head 0**, which token's numbers are these, and from which
# feature on? Store a tuple (token, first feature).

# %% locked=true tags=["nbval-check-output"]
table = torch.tensor([[10 * t + f for f in range(4)] for t in range(3)])  # (T=3, D=4)
show("table", table)
show("by view", table.view(2, 3, 2))  # (H=2, T=3, K=2)

# %% exercise="3.B"
### BEGIN SOLUTION
row_one_holds = (0, 2)
### END SOLUTION

# %%
check("3.B", row_one_holds)

# %% [markdown] slide="skip"
# <details><summary>Hint: a pointer</summary>
#
# Tens are the token, ones the feature: 12 is token 1, feature 2.
# </details>

# %% slide="subslide"
table = torch.tensor([[10 * t + f for f in range(4)] for t in range(3)])
show_figure(
    draw.cuts(
        {"split": course.split_heads(table[None], 2)[0], "view": table.view(2, 3, 2)}
    ),
    "Two ways to cut a table of three tokens into two heads. Split: each row of a head "
    "holds one token. View: head 0 holds token 0 twice, head 1 holds token 2 twice.",
)

# %% [markdown]
# Colours are tokens. After `view`, head 0 would compare token 0 with itself and call it
# token 1. No shape is wrong and nothing stops you from training it. Shapes can't find
# this bug. A table with readable numbers can.

# %% [markdown] exercise="3.C" slide="slide"
# Now the module. Four layers `W_q`, `W_k`, `W_v`, `W_o`, each `nn.Linear` as it
# comes: with a bias, because BERT has one there and you will load BERT's numbers. Use
# your functions from 3.A or the course's, `course.split_heads` and
# `course.merge_heads`, and the attention that you wrote in 2.B:
# `mine.scaled_dot_product_attention(query, key, value, mask)` returns the output and
# the weights. Where your 2.B has not passed, `mine` holds the course's, and the line
# below says so.

# %% locked=true
mine = OwnParts()
mine.take("2.B")


# %% exercise="3.C"
class MultiHeadAttention(nn.Module):
    """Several heads of attention, each in its part of the width.

    Args:
        d_model: width of the vectors that come in and go out
        num_heads: how many heads share this width
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=} is not a multiple of {num_heads=}")
        self.num_heads = num_heads
        ### BEGIN SOLUTION
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)
        ### END SOLUTION

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Let every query look at every key, once per head.

        Args:
            query: (B, T, D)
            key: (B, S, D)
            value: (B, S, D)
            mask: boolean, True = may attend, broadcasts to (B, H, T, S)

        Returns:
            output (B, T, D), weights (B, H, T, S)
        """
        ### BEGIN SOLUTION
        #: query = ...  # (B, H, T, K)
        query = course.split_heads(self.W_q(query), self.num_heads)  # (B, H, T, K)
        key = course.split_heads(self.W_k(key), self.num_heads)  # (B, H, S, K)
        value = course.split_heads(self.W_v(value), self.num_heads)  # (B, H, S, K)
        attention = mine.scaled_dot_product_attention
        found, weights = attention(query, key, value, mask)
        return self.W_o(course.merge_heads(found)), weights
        ### END SOLUTION


# %%
check("3.C", MultiHeadAttention)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Each of the three inputs goes through its own layer and is cut into heads. What
# shape does `attention` need, and does it mind a heads axis?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The mask needs no work: it already broadcasts to (B, H, T, S). `attention` scales by
# the width of the query that it gets.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# project three times; split three times; attention with the mask; merge; W_o; return
# the output and the weights.
# </details>

# %% [markdown]
# Look at it: three words of 300 numbers and four heads, so 75 numbers for each. One
# map per head comes back. A width of 300 can't be shared among 7:

# %%
words = torch.randn(1, 3, 300)  # (B=1, T=3, D=300)
output, weights = MultiHeadAttention(d_model=300, num_heads=4)(words, words, words)
print(tuple(output.shape), tuple(weights.shape))

# %% tags=["nbval-check-output"]
try:
    course.MultiHeadAttention(300, 7)
except ValueError as error:
    print(f"{type(error).__name__}: {error}")

# %% [markdown] slide="slide"
# ## What the real libraries do
#
# The course's own version, `course.MultiHeadAttention`, keeps the three projections
# in one matrix, as torch's `nn.MultiheadAttention` does, and returns weights only on
# request (torch returns them unless told not to). On equal weights they agree, padding
# included:

# %% tags=["nbval-check-output"]
theirs = nn.MultiheadAttention(12, 3, batch_first=True).double()
ours = course.MultiHeadAttention(12, 3).double()
with torch.no_grad():
    ours.to_qkv.weight.copy_(theirs.in_proj_weight)
    ours.W_o.weight.copy_(theirs.out_proj.weight)
    ours.to_qkv.bias.copy_(theirs.in_proj_bias)
    ours.W_o.bias.copy_(theirs.out_proj.bias)

x = torch.randn(2, 5, 12, dtype=torch.float64)  # (B, T, D)
real = torch.arange(5) < torch.tensor([[5], [3]])  # (B, S), True = a real token
expected, torch_map = theirs(x, x, x, key_padding_mask=~real)  # theirs: True = blocked
gap = (ours(x, x, x, real[:, None, None, :]) - expected).abs().max()
print("same to 1e-9:", bool(gap < 1e-9), "| their weights:", tuple(torch_map.shape))

# %% [markdown] exercise="3.D"
# Three heads went in, and (2, 5, 5) weights came out: one map, not three. A colleague
# who plots it finds that "no head looks at its neighbour". Read the signature. Which
# **argument of the call** did they leave at its default? Store its name as a string.

# %% locked=true
import inspect

print(*inspect.signature(nn.MultiheadAttention.forward).parameters, sep="\n")

# %% exercise="3.D"
### BEGIN SOLUTION
missing_argument = "average_attn_weights"
### END SOLUTION

# %%
check("3.D", missing_argument)

# %% [markdown] slide="skip"
# <details><summary>Hint: a pointer</summary>
#
# `nn.MultiheadAttention?` explains each argument. What can turn three maps into one?
# </details>

# %% [markdown] exercise="3.E"
# If you are brave: one layer instead of three. `to_qkv` maps D to 3 D; the first
# third of its output is the query of all heads, the second the key, the last the
# value. It serves self-attention only, so `forward` takes one x.


# %% exercise="3.E"
class FusedSelfAttention(nn.Module):
    """Multi-head self-attention with one layer for query, key and value.

    Args:
        d_model: width of the vectors that come in and go out
        num_heads: how many heads share this width
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        ### BEGIN SOLUTION
        self.to_qkv = nn.Linear(d_model, 3 * d_model)
        self.W_o = nn.Linear(d_model, d_model)
        ### END SOLUTION

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Let every token look at every token, once per head.

        Args:
            x: (B, T, D)
            mask: boolean, True = may attend, broadcasts to (B, H, T, T)

        Returns:
            output (B, T, D), weights (B, H, T, T)
        """
        ### BEGIN SOLUTION
        thirds = self.to_qkv(x).chunk(3, dim=-1)  # three times (B, T, D)
        heads = (course.split_heads(third, self.num_heads) for third in thirds)
        found, weights = attention(*heads, mask, need_weights=True)
        return self.W_o(course.merge_heads(found)), weights
        ### END SOLUTION


# %%
check("3.E", FusedSelfAttention)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which cut comes first: into query, key and value, or into heads?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `chunk(3, dim=-1)` cuts the last axis into three equal parts.
# </details>

# %% [markdown]
# Is it really the same? Stack the weights of three layers below each other, and one
# product gives what three gave. It saves two calls, not one multiplication, and
# without a bias it has 98,304 numbers where three layers with a bias have 99,840
# (d_model 64, inner width 512).

# %% tags=["nbval-check-output"]
x = torch.randn(2, 5, 12, dtype=torch.float64)
W_q, W_k, W_v = (nn.Linear(12, 12).double() for _ in range(3))
stacked = torch.cat([W_q.weight, W_k.weight, W_v.weight])  # (3 D, D)
biases = torch.cat([W_q.bias, W_k.bias, W_v.bias])
together = nn.functional.linear(x, stacked, biases)  # (B, T, 3 D)
apart = torch.cat([W_q(x), W_k(x), W_v(x)], -1)
print("same to 1e-12:", bool((together - apart).abs().max() < 1e-12))

three = 3 * sum(number.numel() for number in nn.Linear(64, 512).parameters())
fused = nn.Linear(64, 3 * 512, bias=False).weight.numel()
print(f"fused without bias {fused:,}, three with bias {three:,}")

# %% [markdown] slide="slide"
# ## See it on something real: a whole layer in your module
#
# all-MiniLM-L6-v2 is a genuine encoder of the BERT family: 6 layers, 12 heads,
# d_model 384. It came with the course's packages. (With `COURSE_SOURCE=hub` in the
# environment the same cells load `bert-base-cased` from the Hugging Face Hub.)

# %% tags=["nbval-check-output"]
bert = pretrained.load_encoder("encoder", attn_implementation="eager")
tokenizer = pretrained.load_tokenizer("encoder")
sentence = "The cat sat on the mat because it was tired."
inputs = tokenizer(sentence, return_tensors="pt")
with torch.no_grad():
    outputs = bert(**inputs, output_attentions=True, output_hidden_states=True)

tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
print(len(outputs.attentions), "layers of", tuple(outputs.attentions[0].shape))
print(*tokens)

# %% [markdown]
# Take results **by name**. The line `attention = outputs[-1]` stands in many
# notebooks; it was right once. Today the last entry is another one, and it is empty:

# %% tags=["nbval-check-output"]
print(list(outputs.keys()))
print("outputs[-1]:", outputs[-1])

# %% [markdown]
# `attn_implementation="eager"` matters, too. The default kernel never stores its
# weights, so it can't show them: you would get an empty tuple, and no error.

# %% [markdown] slide="subslide"
# This is the attention of layer 0. Which of these names are W_q, W_k, W_v and W_o?
# (The layer norm and the sum with the input come in lesson 04.)

# %%
print(bert.encoder.layer[0].attention)

# %% [markdown] exercise="3.F"
# Copy its numbers into a module like yours. *Copy*: training yours later must not
# change theirs. Return your module.


# %% exercise="3.F"
def load_pretrained_attention(mine: nn.Module, theirs: nn.Module) -> nn.Module:
    """Copy the weights and biases of BERT's attention into a module of ours.

    Args:
        mine: has the layers W_q, W_k, W_v and W_o
        theirs: the `attention` of a layer of BERT in `transformers`

    Returns:
        mine, with their numbers.
    """
    ### BEGIN SOLUTION
    mine.W_q.load_state_dict(theirs.self.query.state_dict())
    mine.W_k.load_state_dict(theirs.self.key.state_dict())
    mine.W_v.load_state_dict(theirs.self.value.state_dict())
    mine.W_o.load_state_dict(theirs.output.dense.state_dict())
    return mine
    ### END SOLUTION


# %%
check("3.F", load_pretrained_attention)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Three of the four layers are in `theirs.self`. Where is the one that follows the
# heads?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# One `nn.Linear` takes over another's numbers by `a.load_state_dict(b.state_dict())`.
# </details>

# %% [markdown]
# Now the test that counts: the vectors that enter layer 0 go through **your** module,
# and the library's weights lie beside yours. Below 1e-5 it is rounding.

# %%
x = outputs.hidden_states[0]  # (B=1, T, D): what layer 0 reads
theirs = bert.encoder.layer[0].attention
layer = MultiHeadAttention(bert.config.hidden_size, bert.config.num_attention_heads)
layer = load_pretrained_attention(layer, theirs)
with torch.no_grad():
    output, weights = layer(x, x, x)
gap = (weights - outputs.attentions[0]).abs().max()
print("your attention equals the library's to 1e-5:", bool(gap < 1e-5))

# %% [markdown]
# The output as well. BERT adds x to it and normalises; borrow their layer norm for
# that. This cell does it with the course's module, so that it runs for everybody:

# %% tags=["nbval-check-output"]
x = outputs.hidden_states[0]
theirs = bert.encoder.layer[0].attention
layers = [theirs.self.query, theirs.self.key, theirs.self.value, theirs.output.dense]
ours = course.MultiHeadAttention(x.shape[-1], bert.config.num_attention_heads)
ours.copy_layers(*layers).eval()
with torch.no_grad():
    output, weights = ours(x, x, x, need_weights=True)
    normed, expected = theirs.output.LayerNorm(output + x), theirs(x)[0]
for name, gap in (
    ("weights", weights - outputs.attentions[0]),
    ("output", normed - expected),
):
    print(f"{name} equal to 1e-5:", bool(gap.abs().max() < 1e-5))
    assert gap.abs().max() < 1e-5

# %% [markdown] slide="slide"
# ## What do the heads look at?
#
# Twelve maps of layer 0, with the words. Rows ask, columns answer. One head is unlike
# all the others.

# %%
show_figure(
    draw.head_maps(outputs.attentions[0][0], tokens),
    "Attention maps of the twelve heads of layer 0. Head 2 is a sharp line just below "
    "the diagonal. The others are spread out, many with a column at [CLS].",
)

# %% [markdown] exercise="3.G"
# Put a number on it. For every head: how much weight does a query give on average to
# the **previous** token, to **itself**, and to all **[SEP]** tokens together? The
# first token has no previous one, so leave it out of that mean.


# %% exercise="3.G"
def head_scores(weights: Tensor, tokens: list[str]) -> tuple[Tensor, Tensor, Tensor]:
    """How much of its attention each head gives to three kinds of token.

    Args:
        weights: (H, T, T), row = query, each row sums to 1
        tokens: the T tokens

    Returns:
        previous (H,), itself (H,), separator (H,): means over the queries
    """
    ### BEGIN SOLUTION
    previous = weights.diagonal(-1, dim1=-2, dim2=-1)  # (H, T - 1)
    itself = weights.diagonal(0, dim1=-2, dim2=-1)  # (H, T)
    is_separator = torch.tensor([token == "[SEP]" for token in tokens])
    separator = weights[:, :, is_separator].sum(-1)  # (H, T)
    return previous.mean(-1), itself.mean(-1), separator.mean(-1)
    ### END SOLUTION


# %%
check("3.G", head_scores)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Row t is the query. In which column does token t − 1 stand, for all t at once?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `weights.diagonal(offset, dim1=-2, dim2=-1)` reads a diagonal of every head. A
# boolean tensor of length T picks columns: `weights[:, :, picked]`.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# previous: diagonal below the main one, mean. itself: main diagonal, mean. separator:
# the columns of [SEP], summed, then the mean over the queries.
# </details>

# %%
for layer, weights in enumerate(outputs.attentions):
    previous, itself, separator = head_scores(weights[0], tokens)
    print(f"layer {layer}, previous:", *(f"{score:.2f}" for score in previous))

# %% [markdown] exercise="3.H"
# In the bundled checkpoint one head does nothing but look at a neighbour. Which one,
# as (layer, head), and does it look at the `"previous"` token, the `"next"` or
# `"itself"`?

# %% exercise="3.H"
### BEGIN SOLUTION
neighbour_head = (0, 2)
looks_at = "previous"
### END SOLUTION

# %%
check("3.H", neighbour_head, looks_at)

# %% [markdown] slide="skip"
# <details><summary>Hint: a pointer</summary>
#
# Look for the darkest map above. Follow one row: the word is the query, the dark
# field stands over the key.
# </details>

# %% slide="subslide"
maps = torch.stack(outputs.attentions)[:, 0]  # (layers, H, T, T)
previous = maps.diagonal(-1, -2, -1).mean(-1)  # (layers, H)
itself = maps.diagonal(0, -2, -1).mean(-1)
separator = maps[..., tokens.index("[SEP]")].mean(-1)
show_figure(
    draw.score_maps({"previous": previous, "itself": itself, "[SEP]": separator}),
    "Three maps, layers down and heads across. For the previous token one field is "
    "dark: layer 0, head 2. The maps for the token itself and for [SEP] are pale.",
)

# %% [markdown]
# Is it the words or the places? Give the model nonsense. A head that still looks one
# token back reads *positions*. And watch what averaging the heads does to it (the
# trap of 3.D):


# %% tags=["nbval-check-output"]
def layer_zero(text: str) -> Tensor:
    """The weights of all heads of layer 0, (H, T, T)."""
    with torch.no_grad():
        made = bert(**tokenizer(text, return_tensors="pt"), output_attentions=True)
    return made.attentions[0][0]


for text in (sentence, "banana seven of the rather quickly moon"):
    maps = layer_zero(text)
    back = maps[2].diagonal(-1)
    show(f"head 2, least weight ({text[:10]}...)", back.min())
    blur = maps.mean(0).diagonal(-1).mean()
    show("all heads averaged", blur)
    assert pretrained.source() == "hub" or back.min() > 0.99 and blur < 0.25

# %% [markdown]
# At least 0.99 of every query's weight, words or nonsense. Nobody asked for such a
# head; training made it. Averaged over the heads it shrinks to less than 0.25, like any
# other blur. And where do the others look? Many of them at one and the same token:

# %% tags=["nbval-check-output"]
maps = torch.stack(outputs.attentions)[:, 0]
first = maps[..., 0].mean(-1)  # (layers, H): weight on [CLS]
last = maps[..., -1].mean(-1)  # weight on [SEP]
show("largest share for [CLS]", first.max(), 2)
show("largest share for [SEP]", last.max(), 2)
resting = int((first > 0.5).sum())
print(f"heads that give [CLS] more than half: {resting} of {first.numel()}")
assert pretrained.source() == "hub" or first.max() > 0.8 > 0.3 > last.max()

# %% [markdown]
# A softmax has to share out 1, even if a head finds nothing. It puts the rest where
# it does no harm. Here that is [CLS]; in BERT itself it is often [SEP] (Clark et al.
# 2019).

# %% slide="subslide"
show_figure(
    draw.all_heads([weights[0] for weights in outputs.attentions]),
    "Small attention maps of all 6 layers with 12 heads each. Head 2 of layer 0 is a "
    "sharp diagonal; in later layers many maps show a dark first column.",
)

# %% [markdown] slide="subslide"
# Now the sentence is yours. The figure begins with the head that you met in lesson 02,
# on its tired animal. Replace *tired* by *wide*, press Enter and look at the row of
# *it*: does this one head know what you know? Then write a sentence of your own with a
# pronoun in it, go through layers and heads, and see whether you find a head that looks
# from the pronoun to the right word, and one that links verbs with their objects. What
# you think you have found, try on a second sentence before you believe it.


# %%
def look(text: str) -> tuple[Tensor, list[str]]:
    """The weights of all heads (layers, H, T, T), and the T tokens, at most 20."""
    read = tokenizer(text, return_tensors="pt", truncation=True, max_length=20)
    with torch.no_grad():
        weights = torch.stack(bert(**read, output_attentions=True).attentions)[:, 0]
    return weights, tokenizer.convert_ids_to_tokens(read["input_ids"][0])


tired = "The animal did not cross the street because it was too tired."
play(draw.own_sentence(look, tired, layer=3, head=1))

# %% [markdown] slide="slide"
# ## Look around: BertViz
#
# BertViz (Vig 2019) draws the same weights so that you can click on them. *Model
# view* shows every head; *head view* shows one layer as lines from query (left) to
# key (right). Hover over a word. The pictures above hold the same numbers.

# %% tags=["nbval-ignore-output"]
bertviz.model_view(outputs.attentions, tokens)

# %% tags=["nbval-ignore-output"]
bertviz.head_view(outputs.attentions, tokens, layer=0, heads=[2])

# %% [markdown]
# Try your own sentence, "I love transformers" for a start, or a smaller or larger
# encoder of the Hub such as `microsoft/xtremedistil-l12-h384-uncased`: any name with
# a slash works in `pretrained.load_encoder`, once you are online.

# %% tags=["nbval-check-output"]
inputs = tokenizer("I love transformers", return_tensors="pt")
with torch.no_grad():
    short = bert(**inputs, output_attentions=True)
print(*tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]))
show("layer 0, head 2", short.attentions[0][0, 2], 2)

# %% [markdown] slide="slide"
# ## Another style: every head its own layers
#
# You will meet code that takes the formula literally: a list of small layers, one per
# head, and a d_head of its own that need not be d_model / num_heads. In this style
# the result of the concatenation is H × K wide, and W_o leads back to D.

# %% [markdown] exercise="3.J"
# Write it. `W_q`, `W_k` and `W_v` are `nn.ModuleList`s with one `nn.Linear(d_model,
# d_head)` per head; `W_o` brings the heads back to d_model. A loop is fine.


# %% exercise="3.J"
class HeadByHead(nn.Module):
    """Multi-head self-attention with separate layers for each head.

    Args:
        d_model: width of the vectors that come in and go out
        num_heads: how many heads
        d_head: width of each; num_heads * d_head may differ from d_model
    """

    def __init__(self, d_model: int, num_heads: int, d_head: int) -> None:
        super().__init__()
        every = range(num_heads)
        ### BEGIN SOLUTION
        self.W_q = nn.ModuleList(nn.Linear(d_model, d_head) for _ in every)
        self.W_k = nn.ModuleList(nn.Linear(d_model, d_head) for _ in every)
        self.W_v = nn.ModuleList(nn.Linear(d_model, d_head) for _ in every)
        self.W_o = nn.Linear(num_heads * d_head, d_model)
        ### END SOLUTION

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Let every token look at every token, head by head.

        Args:
            x: (B, T, D)

        Returns:
            output (B, T, D), weights (B, H, T, T)
        """
        ### BEGIN SOLUTION
        found, maps = [], []
        for W_q, W_k, W_v in zip(self.W_q, self.W_k, self.W_v, strict=True):
            output, weights = attention(W_q(x), W_k(x), W_v(x), need_weights=True)
            found.append(output)  # (B, T, K)
            maps.append(weights)  # (B, T, T)
        return self.W_o(torch.cat(found, dim=-1)), torch.stack(maps, dim=1)
        ### END SOLUTION


# %%
check("3.J", HeadByHead)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# What does one head need: which layers, which call? And how do the heads' results,
# each (B, T, K), become one tensor (B, T, H K)?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `zip` walks through three lists at once; `torch.cat` joins along an axis that
# exists, `torch.stack` makes a new one.
# </details>

# %%
dummy = torch.randn(16, 32, 64)  # (B, T, D)
output, weights = HeadByHead(d_model=64, num_heads=8, d_head=64)(dummy)
print(tuple(output.shape), tuple(weights.shape))

# %% [markdown]
# And the two styles are one. With d_head = d_model / num_heads, head h's small layer
# is rows h K to (h + 1) K of the large one:

# %% tags=["nbval-check-output"]
x = torch.randn(2, 5, 12, dtype=torch.float64)  # (B, T, D), three heads of K=4
large = [nn.Linear(12, 12).double() for _ in range(3)]
split = [course.split_heads(layer(x), 3) for layer in large]  # each (B, H, T, K)
at_once = course.merge_heads(attention(*split))

found = []
for h in range(3):
    rows = slice(4 * h, 4 * (h + 1))
    small = [nn.functional.linear(x, one.weight[rows], one.bias[rows]) for one in large]
    found.append(attention(*small))
gap = (torch.cat(found, -1) - at_once).abs().max()
print("same to 1e-12:", bool(gap < 1e-12))

# %% [markdown] exercise="3.K" slide="slide"
# A course's template, in our words: 8 heads of 64 on a width of 64. The same mistake
# stood in the UvA's Tutorial 6 until 16 March 2025 (commit 0da8037). Which two numbers
# should `to_out` get, as a tuple (in, out)? And for which **d_head** would no
# shape have told?

# %% locked=true tags=["nbval-check-output"]
dim, heads, dim_head = 64, 8, 64
inner_dim = heads * dim_head
to_q, to_k, to_v = (nn.Linear(dim, inner_dim) for _ in range(3))
to_out = nn.Linear(inner_dim, inner_dim)

x = torch.randn(16, 32, dim)
split = [course.split_heads(layer(x), heads) for layer in (to_q, to_k, to_v)]
output = to_out(course.merge_heads(attention(*split)))
print("in", tuple(x.shape), "out", tuple(output.shape))
layers = nn.ModuleList([to_q, to_k, to_v, to_out])
print(f"{sum(number.numel() for number in layers.parameters()):,} parameters")

# %% exercise="3.K"
### BEGIN SOLUTION
right_layer = (512, 64)
hiding_d_head = 8
### END SOLUTION

# %%
check("3.K", right_layer, hiding_d_head)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# The output will be added to x. How wide must it be? When is heads × d_head that
# wide?
# </details>

# %% tags=["nbval-check-output"]
wrong = 3 * (64 * 512 + 512) + (512 * 512 + 512)
right = 3 * (64 * 512 + 512) + (512 * 64 + 64)
print(f"as printed {wrong:,}, as it should be {right:,}")

# %% [markdown]
# With 8 heads of 8 the inner width *is* 64, and the bug can't be seen. Whoever tests
# only with heads × d_head = d_model never finds it. This is why sizes in tests should
# differ.

# %% [markdown] exercise="3.L" slide="slide"
# The last bug. A blog projects with `nn.Linear(...)(Q.T).T`, where Q is (tokens,
# features). Write a test that smells it: attention without positions treats all
# tokens alike, so **shuffling the tokens** that go in must shuffle what comes out in
# the same way, and change nothing else. `treats_tokens_alike(layer)` takes any layer
# (5, 8) → (5, 8).


# %% locked=true
def blog_multi_head(x, num_heads=2, d_model=8):
    """What the blog calls multi-head attention, in our words."""
    found = []
    for _ in range(num_heads):
        parts = [nn.Linear(len(x), d_model)(x.T).T for _ in range(3)]
        found.append(attention(*parts))  # (d_model, features)
    return nn.Linear(num_heads * d_model, len(x))(torch.cat(found).T).T


# %% exercise="3.L"
def treats_tokens_alike(layer) -> bool:
    """Test whether shuffled tokens give the same outputs, shuffled.

    Args:
        layer: a function (5, 8) -> (5, 8), five tokens with eight features

    Returns:
        True if it treats all tokens alike.
    """
    x = torch.randn(5, 8)
    ### BEGIN SOLUTION
    order = torch.tensor([3, 0, 4, 1, 2])  # applied twice it does not undo itself
    return torch.allclose(layer(x[order]), layer(x)[order], atol=1e-5)
    ### END SOLUTION


# %%
check("3.L", treats_tokens_alike)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# If tokens 0 and 3 change places in the input, where do you find the result that
# token 0 had before?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `x[order]` with a tensor of places puts the rows in that order. Use an order without
# a pattern, and compare with room for rounding.
# </details>

# %%
print("the blog's layer treats tokens alike:", treats_tokens_alike(blog_multi_head))

# %% [markdown]
# `nn.Linear` works on the last axis, and after `.T` that is the *tokens*. So the
# scores are 8 × 8 between mixtures of tokens. It runs for five tokens only because
# its sizes are taken from x, and its layers are made inside the function, so that two
# calls differ and nothing is ever learned:

# %% tags=["nbval-check-output"]
five = torch.tensor([[0.3], [-0.4], [1.1], [0.6], [-0.2]])  # (T=5, one feature)
with torch.no_grad():
    first, second = blog_multi_head(five), blog_multi_head(five)
print("shape", tuple(first.shape), "| twice the same:", torch.equal(first, second))

# %% [markdown] exercise="3.M" slide="slide"
# Why d_head = d_model / num_heads, and not as wide as memory allows? The next cell
# counts. Explain in five or six sentences: what stays the same when the number of
# heads grows, what each head gives up, and what would happen with d_head = d_model in
# every head.

# %% tags=["nbval-check-output"]
for num_heads in (1, 8, 16):
    layer = course.MultiHeadAttention(512, num_heads)
    shared = sum(number.numel() for number in layer.parameters())
    full = 3 * (512 * 512 + 512) * num_heads + num_heads * 512 * 512 + 512
    print(f"{num_heads:2} heads: d_head shared {shared:,}, d_head = 512 each {full:,}")
    assert shared == 1_050_624

# %% [markdown] answer="3.M"
# ### BEGIN SOLUTION
# **Model answer.** With d_head = d_model / num_heads all heads together are as wide
# as one head was, so the four matrices keep their size: 1,050,624 numbers for 1, 8 or
# 16 heads, and as many multiplications in the projections and in the products of
# queries and keys. The heads are a gift in cost: several sets of weights for the
# price of one. What each head gives up is room: it compares words by a dot product of
# only d_head numbers, so its table of scores has at most rank d_head, and a very
# narrow head can express only simple relations. With d_head = d_model in every head,
# parameters and time would grow in proportion to the number of heads, to 8,401,408
# for 8 heads, and mostly for matrices that real heads don't need. The paper found one
# head 0.9 BLEU worse than the best setting, and too many heads worse again (table 3,
# rows A): it is a compromise. Filling the memory of a graphics card is no reason.
#
# **Rubric (3 points).** 1: parameters and time stay constant when the width is
# shared. 1: says what a narrow head loses. 1: says what d_head = d_model costs, with
# a number or a proportion.
# ### END SOLUTION

# %% [markdown] slide="slide"
# ## What you can now do
#
# - Cut and merge heads, and show with a readable table that no token was mixed up.
# - Write multi-head attention in both styles, and prove them equal.
# - Put a pretrained layer into your own code and reproduce it to 1e-5.
# - Name what a head looks at, with a number, and distrust an averaged map.
#
# Next, lesson 04: the layer around it, until your encoder *is* that model.

# %% [markdown] slide="skip"
# **References.** Vaswani et al. 2017, *Attention Is All You Need* (arXiv 1706.03762),
# section 3.2.2 and table 3. Vig 2019, *A Multiscale Visualization of Attention*
# (arXiv 1906.05714). Clark et al. 2019, *What Does BERT Look At?* (arXiv 1906.04341).
# Michel et al. 2019, *Are Sixteen Heads Really Better than One?* (arXiv 1905.10650).
# Wang et al. 2020, *MiniLM* (arXiv 2002.10957), for the family of the bundled
# encoder.
