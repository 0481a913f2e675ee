# %% [markdown] slide="slide"
# # 02 Attention: a soft dictionary
#
# **How can a word take from the other words just what it needs?**
#
# You need: vectors, the dot product, a little PyTorch. Time: about 120 minutes, of
# which 65 are the core path (★). Everything runs on your laptop's CPU, without a
# network.

# %% [markdown] slide="subslide"
# At the end of this lesson you can
#
# - write scaled dot-product attention from its formula, with a mask, for any batch;
# - say why the scores are divided by √d_head, and show it by an experiment;
# - find a wrong attention by a test that looks at numbers, not at shapes;
# - run your own function on the query, key and value of a real pretrained model, and
#   get what the library gets.

# %% [markdown] slide="notes"
# 45 minutes: why (5), dictionary and hand example (10), live coding of 2.2 (12),
# scaling experiment (8), the real head (5), questions (5). Leave 2.3, 2.5b, 2.5c and
# 2.6 for the lab. Usual trouble: the axis of the softmax, and the mask's missing query
# axis.

# %%
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import show
from helpers.checks import check
from helpers.experiments.one_head import one_head
from helpers.figures import attention as draw
from helpers.figures import canvas, heat_map, show_figure
from helpers.figures.play import play
from helpers.models.attention import attention

_ = torch.manual_seed(2)

# %% [markdown]
# **Letters in shape comments**, the same in every lesson: `B` batch, `T` query length,
# `S` key length, `D` d_model, `H` heads, `K` d_head (the paper's d_k), `W` width of a
# value. In formulas Q, K and V are the matrices of queries, keys and values. *Scores*
# are before the softmax, *weights* after. A mask is boolean; True means "may attend".

# %% [markdown] slide="slide"
# ## Why: a word alone does not know what it means
#
# > The animal did not cross the street because **it** was too tired.
#
# Who was tired? You looked back and found the animal. A table of word vectors can't do
# that: it gives *it* the same vector in every sentence.

# %% [markdown]
# What we want: for each word, look at all words of the sentence, decide how much each
# of them matters here, and mix their vectors accordingly. The input is a list of
# vectors $X = [x_1, \dots, x_n]$; every element may depend on every other. The same
# idea serves images (patches instead of words) and speech (frames).

# %% [markdown] slide="slide"
# ## The idea: a dictionary that always answers
#
# A Python dictionary compares your query with its keys. One key is equal, and you get
# its value: a weight of 1 on one entry, 0 on all others. No equal key, no answer.

# %%
colours = {"apple": "red", "lemon": "yellow", "plum": "blue"}
print(colours["lemon"], colours.get("lime"))

# %% [markdown]
# A *soft* dictionary compares by dot product instead. Every key answers a little, the
# similar ones loudly, and you get a weighted mean of the values. *Lime* is not in
# there, but it is near *lemon* and far from the others.

# %% tags=["nbval-check-output"]
keys = torch.tensor([[2.0, 0.0], [0.0, 3.0], [1.0, -2.0]])  # apple, lemon, plum
values = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # R, G, B
lime = torch.tensor([0.2, 0.9])

scores = keys @ lime  # (S,)
shares = scores.softmax(0)
show("scores", scores)
show("weights", shares)
show("output: red, green, blue", shares @ values)

# %% slide="fragment"
picture = draw.lookup(
    "lime", ["apple", "lemon", "plum"], ["red", "yellow", "blue"], shares.tolist(),
    "mostly yellow",
)  # fmt: skip
show_figure(
    picture,
    "A query, lime, is joined to three keys. The line to lemon is the thickest, so the "
    "value yellow makes up most of the output.",
)

# %% [markdown] slide="slide"
# ## By hand: two words
#
# Two words, each with a query and a key of three numbers and a value of two. Take a
# pencil: multiply, divide by √3, apply the softmax. Then run the cells and compare. In
# Python `@` multiplies matrices; the comments keep book of the shapes.

# %% tags=["nbval-check-output"]
Q = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])  # (T=2, K=3)
K = torch.tensor([[1.0, 2.0, 1.0], [2.0, 1.0, 0.0]])  # (S=2, K=3)
V = torch.tensor([[0.5, 0.8], [0.2, 0.3]])  # (S=2, 2)

hand_scores = Q @ K.T / 3**0.5  # (2, 3) @ (3, 2) -> (2, 2)
show("scores", hand_scores)

# %% tags=["nbval-check-output"]
hand_weights = hand_scores.softmax(-1)  # each row sums to 1
show("weights", hand_weights)
show("output", hand_weights @ V)  # (2, 2) @ (2, 2) -> (2, 2)

# %% [markdown]
# The first word finds both keys equally good and takes the plain mean of the values.
# The second takes 0.7604 of the first word's value and 0.2396 of its own. Row *i* of
# the weights belongs to query *i*: many queries at once are one matrix product.

# %% [markdown] slide="slide"
# ## Softmax: from scores to shares
#
# $$\mathrm{softmax}(z)_i = \frac{e^{z_i}}{\sum_j e^{z_j}}$$
#
# All results are positive and sum to 1. For [2, 4, 5] they are 0.0351, 0.2595, 0.7054.
# Written just like that, the formula breaks:

# %% tags=["nbval-check-output"]
z = torch.tensor([2.0, 4.0, 5.0])
show("softmax of [2, 4, 5]", z.exp() / z.exp().sum())
z = torch.tensor([2.0, 4.0, 1000.0])
show("softmax of [2, 4, 1000]", z.exp() / z.exp().sum())

# %% [markdown] exercise="2.1"
# exp(1000) is larger than any float, and infinity divided by infinity is not a number.
# Write a softmax that survives this. It works along any axis `dim`, and the gradient
# gets through it to x: attention will be trained.


# %% exercise="2.1"
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
check("2.1", softmax)

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

# %% [markdown] slide="slide"
# ## The formula
#
# $$\mathrm{Attention}(Q, K, V) =
# \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_{head}}}\right) V$$
#
# Compare every query with every **key**; scale; share out, one row per query; mix the
# **values**. (Vaswani et al. 2017, section 3.2.1)

# %% [markdown]
# A *mask* takes part before the softmax: where it is False, the score is replaced by
# something so small that its exponential is 0. The softmax then shares out the rest by
# itself, and every row still sums to 1.

# %% [markdown] exercise="2.2"
# Write the formula as a function. Return both the output and the weights, because you
# will want to look at the weights. It must work for one sequence (T, K), for a batch
# (B, T, K) and for a batch of heads (B, H, T, K): count axes from the end.


# %% exercise="2.2"
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
check("2.2", scaled_dot_product_attention)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# `query` is (..., T, K), `key` is (..., S, K), the scores are (..., T, S). Over which
# axis does the product sum, and how must `key` be turned for that?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `key.mT` swaps the last two axes, whatever comes before them. `masked_fill` wants True
# where it fills. Minus infinity is `float("-inf")`.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# scores: dot product of each query with each key, divided by the root of d_head; where
# the mask is False: minus infinity; weights: softmax over the keys; output: weights
# times value.
# </details>

# %% [markdown]
# Look at it: your function on the two words from above, and on random vectors of three
# words with 300 numbers each. The weights should be the ones you computed by hand.

# %%
hand_output, hand_weights = scaled_dot_product_attention(Q, K, V)
show("weights", hand_weights)
random_words = torch.randn(1, 3, 300)  # (B=1, T=3, K=300)
output, weights = scaled_dot_product_attention(random_words, random_words, random_words)
print(tuple(output.shape), tuple(weights.shape))

# %% [markdown] slide="slide"
# ## What the real libraries do
#
# Five spellings of the same formula: loops as you would say it aloud, matrices, named
# axes, torch's fused kernel, and the one that BERT in `transformers` runs. They differ
# by rounding only. Read them with `by_loops??`.

# %% tags=["nbval-check-output"]
from helpers.models import attention_ways as ways

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

# %% [markdown] slide="slide"
# ## Why divide by √d_head?
#
# Take queries and keys of independent numbers with mean 0 and variance 1. A dot product
# adds up d_head products, so its variance is d_head. Large scores make the softmax pick
# one winner, and a winner that is sure of itself has no slope left to learn from.

# %% tags=["nbval-check-output"]
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

# %%
show_figure(
    draw.scale_curves(widths, measured),
    "Against d_head from 1 to 1024: the variance of raw scores grows in proportion, "
    "that of scaled ones stays at 1; without the scale the largest weight grows to "
    "nearly 1 and the mean slope p(1-p) falls.",
)

# %% [markdown]
# It is not that numbers get "too large" for the computer. It is that the *spread* of
# the scores grows with the width of a head, and the softmax hardens with it.

# %% [markdown] slide="subslide"
# Now move it with your own hand. Leave the scores divided by *nothing*, push d_head up
# from 1, and watch one key take everything while the slope runs out. In another random
# draw two keys may share it, but the other six get nothing. Which of the other divisors
# do you expect to help? Choose √d_head and push again: the scores keep their size, and
# no key takes it all. Then choose d_head itself. All eight keys become nearly alike, so
# a head that divides by too much can't point at anything.

# %%
play(draw.sharpness())

# %% [markdown] exercise="2.3"
# How much slope is left, exactly? If $p = \mathrm{softmax}(z)$, then $\partial p_i /
# \partial z_j$ is $p_i (1 - p_i)$ where $i = j$, and $-p_i p_j$ elsewhere. Write the
# whole table of slopes.


# %% exercise="2.3"
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
check("2.3", softmax_jacobian)

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

# %% tags=["nbval-check-output"]
z = torch.tensor([1.0, 20.0, 3.0, 4.0], dtype=torch.float64)
jacobian = torch.autograd.functional.jacobian(lambda z: z.softmax(0), z)
print("unscaled:", *(f"{slope:.2e}" for slope in jacobian[0]))
jacobian = torch.autograd.functional.jacobian(lambda z: z.softmax(0), z / 2)
print("halved:  ", *(f"{slope:.2e}" for slope in jacobian[0]))

# %% [markdown]
# Halving these four scores makes the first slope ten thousand times larger: from
# 5.60e-09 to 7.48e-05. (These are slopes by the halved scores; by the scores before,
# the chain rule halves them once more. And 2 would be the root of a d_head of 4. That
# there are four scores has nothing to do with it.)

# %% [markdown] exercise="2.3b"
# A published post prints the second line as `[0.0001, -2.7149, -1.1240e-07, -3.0553]`.
# No computer needed: which entries are impossible for a softmax gradient? Give their
# places, counted from 0, as a tuple.

# %% exercise="2.3b"
### BEGIN SOLUTION
impossible_entries = (1, 3)  # no product of two shares exceeds 1/4
### END SOLUTION

# %%
check("2.3b", impossible_entries)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# p_i and p_j are positive and together at most 1. How large can their product be?
# </details>

# %% [markdown] slide="slide"
# ## Where query, key and value come from
#
# In **self-attention** a sequence asks itself. Query, key and value are three learned
# projections of the same vectors:
#
# $$Q = XW^Q,\quad K = XW^K,\quad V = XW^V$$

# %% [markdown]
# So a word can ask for one thing, be found by another, and hand over a third. Sentences
# in a batch have different lengths and are filled up with padding. A *padding mask* of
# shape (B, T) says which tokens are real; nobody may attend to the others.

# %% [markdown] exercise="2.4"
# Write it as a module. The projections need no bias: the formula has none. Put the
# mask's axis where the keys are. You may call your function from 2.2, or
# `attention(..., need_weights=True)` from `helpers.models`.


# %% exercise="2.4"
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
check("2.4", SelfAttention)

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

# %%
dummy = torch.randn(16, 32, 64)  # (B, T, D): the course's batch for shape tests
output, weights = SelfAttention(d_model=64, d_head=16)(dummy)
print(tuple(output.shape), tuple(weights.shape))

# %% [markdown] slide="slide"
# ## Break it: the square trap
#
# What if the mask keeps its shape (B, T)? With 16 sequences of 32 tokens torch
# complains. With 4 sequences of 4 tokens it does not: the mask of *sequence* j is taken
# for *query* j. Only sequence 0 has padding here, yet all four change.

# %% tags=["nbval-check-output"] locked=true
square = torch.randn(4, 4, 8, generator=torch.Generator().manual_seed(1))  # B = T = 4
real = torch.ones(4, 4, dtype=torch.bool)
real[0, 2:] = False  # two tokens of sequence 0 are padding
whole = attention(square, square, square)

for name, laid in (("(B, T)", real), ("(B, 1, T)", real[:, None, :])):
    change = attention(square, square, square, laid) - whole  # (B, T, K)
    touched = change.abs().amax((1, 2)) > 1e-6  # (B,)
    print(f"{name:10} sequences changed: {touched.nonzero().flatten().tolist()}")

# %% [markdown]
# Shapes alone would never have told. That is why the checks of this course use sizes
# that all differ, and why you should, too.

# %% [markdown] exercise="2.5"
# The function below stood in a course's template (rewritten by us). Its output has
# the right shape. Write a **test** that finds out: `looks_healthy(attend)` calls any
# attention function (query, key, value) → (output, weights) on numbers of your choice,
# and returns True only if it behaves. Two facts about attention are enough, if you use
# both.


# %% locked=true
def suspicious_attention(query, key, value):
    """Take (T, K), (S, K), (S, W); return output and weights."""
    weights = (query @ key.mT).softmax(-1)
    weights = weights / query.shape[-1] ** 0.5
    mixed = weights @ value
    return mixed, weights


# %% exercise="2.5"
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
check("2.5", looks_healthy)

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
# The division came after the softmax: with d_head = 16 the rows sum to a quarter, and
# the softmax is as hard as without any scale.

# %% tags=["nbval-check-output"]
ones = torch.ones(5, 16)
_, late = suspicious_attention(ones, ones, ones)
show("rows sum to", late.sum(-1))

# %% [markdown] exercise="2.5b"
# A blog's function (again in our words) takes the root of `Q.shape[0]`. Its example has
# five tokens of width 1. By which **factor** are its scores too small there? Store a
# number.


# %% locked=true tags=["nbval-check-output"]
def blog_attention(Q, K, V):
    """Take (T, K), (S, K), (S, W); return output and weights."""
    d_k = torch.tensor(Q.shape[0])  # 5
    weights = F.softmax(Q @ K.T / torch.sqrt(d_k), dim=1)
    return weights @ V, weights


five = torch.tensor([[0.3], [-0.4], [1.1], [0.6], [-0.2]])  # (T=5, K=1)
_, blog_weights = blog_attention(five, five, five)
_, right_weights = attention(five, five, five, need_weights=True)
show("largest weight, blog", blog_weights.max())
show("largest weight, right", right_weights.max())

# %% exercise="2.5b"
### BEGIN SOLUTION
too_small_by = 5**0.5  # divided by the root of 5 tokens instead of the root of width 1
### END SOLUTION

# %%
check("2.5b", too_small_by)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# By which number should these scores be divided, and by which are they?
# </details>

# %% [markdown]
# A good test for such a mistake: show the same function a longer text. How two words
# compare must not depend on how many others there are. Here is the ratio of the first
# two weights, for five tokens and for the same five twice:

# %% tags=["nbval-check-output"]
for name, function in (("blog", blog_attention), ("right", attention)):
    more = {"need_weights": True} if function is attention else {}
    for some in (five, torch.cat([five, five])):
        _, weights = function(some, some, some, **more)
        show(f"{name:5} {len(some):2} tokens, ratio", weights[2, 2] / weights[2, 0])

# %% [markdown] exercise="2.5c"
# The same blog prints the scores of one query (here shifted by a constant) and these
# weights. They do not fit together: a notebook cell like `W = F.softmax(W, dim=1)` was
# run more than once. **How often** was the softmax applied? Experiment, then
# store a whole number.

# %% locked=true
row_of_scores = torch.tensor([0.0000, 0.1831, 0.0153, 0.1121, 0.1459])
printed_weights = torch.tensor([0.1964, 0.2037, 0.1970, 0.2007, 0.2021])

# %% exercise="2.5c"
### BEGIN SOLUTION
times_applied = 2
### END SOLUTION

# %%
check("2.5c", times_applied)

# %% [markdown] slide="skip"
# <details><summary>Hint: a pointer</summary>
#
# Apply the softmax once and compare. Then feed the result in again.
# </details>

# %% [markdown]
# A cell that assigns to the name it reads gives another result each time it runs. Give
# results new names, and before you believe a notebook choose *Restart Kernel and Run
# All*.

# %% [markdown] exercise="2.6"
# Turn the dictionary around. You get the keys of a soft dictionary, more features than
# keys, and which of them is **wanted**, counted from 0. Find a query that puts at least
# 0.99 of the weight on it, scale included. Beware: the keys are not orthogonal, and
# some are longer than others.


# %% exercise="2.6"
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
check("2.6", query_for)

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
# ## See it on something real
#
# Back to the tired animal. Below, the query, key and value of head 1 in layer 3 of a
# real pretrained encoder of the BERT family, all-MiniLM-L6-v2. Your function gets them,
# and the library's weights stand beside yours.

# %% tags=["nbval-check-output"]
sentence = "The animal did not cross the street because it was too tired."
head = one_head(sentence, layer=3, head=1)
it = head.tokens.index("it")
_, weights = attention(head.query, head.key, head.value, need_weights=True)
for token, weight in zip(head.tokens, weights[it], strict=True):
    print(f"{token:10}{weight:.2f}", "#" * round(40 * weight.item()))
assert weights[it].argmax() == head.tokens.index("animal")

# %% [markdown]
# *it* puts 0.69 of its attention on *animal*. Nobody programmed that; it was learned
# from text. The model has 12 such heads in each of 6 layers, and each looks for
# something else (lesson 03). Now your own function, against what `transformers`
# computed:

# %%
_, mine = scaled_dot_product_attention(head.query, head.key, head.value)
show("largest difference from the library", (mine - head.weights).abs().max())

# %% slide="subslide"
figure, (axes,) = canvas(6.5, 5.5)
heat_map(axes, weights, head.tokens, head.tokens, "layer 3, head 1", numbers=False)
show_figure(
    figure,
    "Attention of every token of the sentence to every other. The row of the word it "
    "is darkest at the column animal.",
)

# %%
words = slice(1, -2)  # without [CLS], the full stop and [SEP]
show_figure(
    draw.in_motion(weights[words, words], head.tokens[words]),
    "An animation: one word after the other asks, and lines as thick as its weights "
    "lead to the words it attends to. The thickest from the word it leads to animal.",
)

# %% [markdown] slide="slide"
# ## What it costs
#
# Every query meets every key: 12 tokens make 144 scores, *per head and per layer*.
# Count the multiplications of a layer: projections and feed-forward take 12·n·d²,
# scores and mixing 2·n²·d. The second overtakes the first only at n = 6d.

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
# So the quadratic part should not matter below 4,608 tokens. Measure it, with attention
# written naively, so that the scores are stored:


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
# Look where the two curves cross on your machine: long before 4,608. The
# multiplications are cheap; moving the scores through memory is not (0.8 MB for 128
# tokens, 201 MB for 2,048). Fused kernels win because they never store them.

# %% [markdown]
# How long a text can a model read? Such facts age quickly, so note when and who says
# so: the GPT-4o of May 2024 reads 128,000 tokens according to OpenAI's model page.
# Numbers without a date and a source are rumours.

# %% [markdown] slide="slide"
# ## Another way to compare: additive attention
#
# Dot products are not the only choice. The first attention (Bahdanau et al. 2015) asked
# a small network: score = vᵀ tanh(W q + U k). You will write it in lesson 08, where it
# belongs. Here only its shape; the soft dictionary stays the same.


# %% tags=["nbval-check-output"]
def additive_scores(query, key, W, U, v):
    """Score each query (T, 4) with each key (S, 4): (T, S)."""
    together = (query @ W)[:, None, :] + (key @ U)[None, :, :]  # (T, S, 6)
    return together.tanh() @ v  # (T, S)


numbers = {"generator": torch.Generator().manual_seed(3)}
W, U, v = (torch.randn(*size, **numbers) for size in ((4, 6), (4, 6), (6,)))
some_query, some_key = (torch.randn(n, 4, **numbers) for n in (2, 3))
show("weights", additive_scores(some_query, some_key, W, U, v).softmax(-1))

# %% [markdown] exercise="2.8" slide="slide"
# Suppose a row of the mask is all False: a query that may attend to **nothing**. Three
# libraries give three answers, as the next cell shows. Which one would you want, and
# what does each do to training if such a row slips in unnoticed? Write five or six
# sentences.

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

# %% [markdown] answer="2.8"
# ### BEGIN SOLUTION
# **Model answer.** Adding −1e9 leaves all scores of the row equal after rounding, so
# the weights are uniform: the query quietly reads everything it was forbidden to read,
# padding and future included, and training goes on with a leak that no loss curve
# shows. Minus infinity gives 0/0, NaN: the next attention layer carries it to every
# token of the sequence (even a weight of 0 times NaN is NaN), and the loss turns NaN at
# once. That is ugly, but nobody can overlook it.
# Zeros, as in the fused kernel, mean "no information": no leak and no NaN, and the
# residual connection carries the token on. For production I want zeros; while I look
# for a bug I want the NaN. Best of all is not to have such rows: padded queries are
# ignored in the loss, and every real query may attend at least to itself.
#
# **Rubric (3 points).** 1: says what each of the three does to the weights. 1: says
# what follows for training (silent leak against loud NaN against no contribution). 1:
# takes a position and gives a reason.
# ### END SOLUTION

# %% [markdown] slide="slide"
# ## What you can now do
#
# - Write attention from its formula, for any number of leading axes, with a mask.
# - Explain the √d_head by variance, not by "large numbers".
# - Test attention by facts: rows sum to 1, a constant comes back, length does not
#   matter.
# - Run a real head of a pretrained model through your own code.
#
# Next, lesson 03: several heads at once, and a whole layer of that model in your
# module.

# %% [markdown] slide="skip"
# What you have passed so far, here and in the other lessons:

# %% slide="skip"
from helpers.student.overview import progress

progress()

# %% [markdown] slide="skip"
# **References.** Vaswani et al. 2017, *Attention Is All You Need* (arXiv 1706.03762),
# section 3.2. Bahdanau et al. 2015 (arXiv 1409.0473). Dao et al. 2022, *FlashAttention*
# (arXiv 2205.14135), for why memory decides. Alammar, *The Illustrated Transformer*,
# and Weng, *Attention? Attention!*, for other pictures of the same thing.
