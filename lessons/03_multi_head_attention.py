# %% [markdown] slide="slide"
# # 03 Multi-head attention: several questions at once
#
# **What if a word needs two things from its sentence, and can ask only once?**
#
# You need: lesson 02, or its ideas: query, key, value, softmax, a mask. Time:
# {minutes}. Everything runs on your laptop's CPU, without a network.

# %% [markdown] slide="notes"
# **1 minute.** Say: last time *it* asked one question, and found the animal.
#
# Ask: what else would you want to know about *it*, to understand the sentence?
#
# Expect: "that it was tired", "why it did not cross". Keep both on the board.

# %% [markdown] slide="slide"
# ## Two questions about one word
#
# > The animal did not cross the street because **it** was too tired.
#
# What does *it* refer to? And what is said about it? You answered both as you read. In
# lesson 02 a head had one query for *it*, so it could ask one question. Below are two
# heads of the same pretrained model, on this sentence and on its twin, *... too wide*.
# Where will each of them look?

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: which word does the second head look at, and
# what will it do in the sentence with *wide*?
#
# Expect: *tired* is found quickly, and nobody is surprised that it moves to *wide*.
# Some are that the first head stays with *animal*.
#
# Say: we picked two heads of 72. The questions are our words for what they look at.

# %%
import torch
from torch import Tensor, nn

from helpers import pretrained, show
from helpers.checks import check
from helpers.experiments.one_head import attention_layer, one_head
from helpers.experiments.reversal import commonest_of_the_others, digit_rows
from helpers.experiments.two_questions import (
    TwoQuestionsModel,
    learn,
    shares_right,
    two_questions_loss,
)
from helpers.figures import bertviz_view as bertviz
from helpers.figures import multi_head as draw
from helpers.figures import show_figure
from helpers.figures.play import play
from helpers.models import multi_head as course
from helpers.models.attention import attention
from helpers.student.own_parts import OwnParts

_ = torch.manual_seed(3)

# %% tags=["nbval-check-output"] slide="fragment"
TIRED = "The animal did not cross the street because it was too tired."
WIDE = TIRED.replace("tired", "wide")

for sentence in (TIRED, WIDE):
    print(sentence)
    for layer, number in ((3, 1), (2, 1)):
        head = one_head(sentence, layer=layer, head=number)
        weights = head.asked_by("it")
        word, most = head.tokens[weights.argmax()], weights.max().item()
        bar = "#" * round(50 * most)
        print(f"  layer {layer}, head {number}: it <- {word:7}{most:.2f} {bar}")

# %% [markdown] slide="skip"
# The first head is the one that you met in lesson 02. It looks for what *it* refers to.
# With *wide* that should be the street, but *animal* is still ahead, though by less.
# The second, in the layer below, looks for what is said about *it*. Both questions are
# our reading of the weights. A head has one row of weights for *it*, which add up to 1,
# so what goes to *tired* can't go to *animal*. It could divide them, of course, and
# give each word a half. What would it get then?

# %% [markdown] slide="subslide"
# Take *cross*, which asks who crosses, and what is crossed. Let a head give half of its
# weight to *animal* and half to *street*, whose values are (1, 0) and (0, 1). What does
# *cross* get? And what does it get in *The street did not cross the animal*? Say both,
# then run the cell.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: what does *cross* get in each of the two sentences? Take a vote:
# the same, or not?
#
# Expect: half of them see that a mean doesn't know who was who.
#
# Say: two heads keep two answers apart, because they are placed side by side.

# %% tags=["nbval-check-output"] slide="fragment"
animal, street = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])  # two values

show("one head, the animal crosses", (animal + street) / 2)
show("one head, the street crosses", (street + animal) / 2)
show("two heads, the animal crosses", torch.cat([animal, street]))  # who | what
show("two heads, the street crosses", torch.cat([street, animal]))

# %% [markdown] slide="skip"
# One head returns one mean, and this mean is the same for both stories. Two heads have
# weights of their own, so the first can look for the one who crosses and the second for
# what is crossed, and their answers are placed side by side instead of being mixed.
# This is **multi-head attention**, and BERT and GPT have it in every layer. By the end
# of this lesson you will have written it, trained it on two questions at once, and put
# the weights of a real model into it.

# %% [markdown] slide="skip"
# At the end of this lesson you can
#
# - cut a batch of vectors into heads and join them without mixing up tokens;
# - write multi-head attention as a module, and say what its last matrix is for;
# - say what attention does when the words change places, and test it;
# - load a layer of a real encoder into *your* module and get its weights;
# - say with a number what a head looks at.
#
# The letters in shape comments are those of lesson 02: `B` batch, `T` query length, `S`
# key length, `D` d_model, `H` heads, `K` d_head, the width of one head. (In formulas K
# is still the matrix of keys.)

# %% [markdown] slide="notes"
# Leave 3.D, 3.E, 3.F, 3.G and everything below Going further for the lab. Usual
# trouble: `view` where a transpose is due, in either direction.

# %% [markdown] slide="slide"
# ## Heads share the width
#
# $$\mathrm{head}_i = \mathrm{Attention}(QW_i^Q,\; KW_i^K,\; VW_i^V)$$
#
# $$\mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots,
# \mathrm{head}_h)\,W^O$$
#
# (Vaswani et al. 2017, section 3.2.2)

# %% [markdown] slide="notes"
# **2 minutes.** Say: each head is what you wrote last time, with three matrices of its
# own. Read the second line from the inside: the heads' answers side by side, then one
# more matrix.
#
# Ask: 384 numbers for a word, twelve heads: how wide should a head be?
#
# Expect: "384", and then "32" from those who remember last week's shapes.

# %% [markdown] slide="skip"
# Each head is the attention of lesson 02, with three matrices of its own. How wide
# should it be? The heads of our model turn 384 numbers into 32, and there are 12 of
# them, because 12 times 32 is 384. The heads share the width, d_head = d_model / H, and
# that makes them affordable: twelve narrow heads need as many numbers as one head of
# the full width. In code you rarely see 36 small matrices. One layer makes the queries
# of all heads, D numbers wide, and this *result* is cut into H pieces of d_head numbers
# each.

# %% slide="subslide"
show_figure(
    draw.way(4),
    "From left to right: X, three rows of eight numbers, goes through W q, W k and W "
    "v and becomes Q, K and V of the same size. Each is cut into four heads of two "
    "columns, told apart by colours. Each head has its own weights, three by three, "
    "and its own answer, three by two. The answers are joined side by side, three by "
    "eight again, and go through W o to the output.",
)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: follow one word, one row of X. Where is it in each part of the
# picture, and how many rows of weights does it get?
#
# Expect: "one". It is four, one in each head.
#
# Say: colours are heads. Until W o, no head knows what the others found.

# %% [markdown] exercise="3.A"
# Write the cut and its inverse. Head 0 gets the first d_head features of each token,
# head 1 the next, and so on. The heads become an axis beside the batch, so that the
# attention of lesson 02 runs on all of them at once.

# %% [markdown] slide="notes"
# **5 minutes.** Say: you dictate, I type; first the shapes as comments, then the code.
#
# Ask: cutting the last axis gives (B, T, H, K). Why not go to (B, H, T, K) at once?
#
# Expect: somebody proposes `view`. Type it, and let the check say what it does.
#
# Say: first cut the axis that is to be cut, then move the axis that is to move.


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
# Cutting D into (H, K), heads times d_head, changes the last axis only. In which order
# are the axes then, and in which order should they be?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `transpose(1, 2)` swaps two axes. After it, `reshape` works and `view` may not: the
# numbers no longer lie in memory in the order of the axes.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# split: cut the last axis into heads and d_head, then swap length and heads. merge:
# swap them back, then join the last two axes.
# </details>

# %% [markdown]
# Now look at what yours does. In this table 12 means "token 1, feature 2", so you can
# see where every number went:

# %%
table = torch.tensor([[10 * t + f for f in range(4)] for t in range(3)])  # (T=3, D=4)
show("your heads", split_heads(table[None], 2)[0])  # (H=2, T=3, K=2)
same = torch.equal(merge_heads(split_heads(table[None], 2))[0], table)
print("joined again, as before:", same)

# %% [markdown] exercise="3.B" slide="slide"
# Here is a bug that raises no error: somebody reshapes the table straight to (H, T, K),
# and the shape is right. Which token do the numbers in **row 1 of head 0** belong to,
# and from which feature on? Store a tuple (token, first feature).

# %% [markdown] slide="notes"
# **1 minute.** Ask: read row 1 of head 0 aloud. Whose numbers are they?
#
# Expect: "token 1", out of habit. The tens say something else.
#
# Say: no shape is wrong, so only a table with readable numbers can tell.

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
# The tens are the token and the ones the feature: 12 is token 1, feature 2.
# </details>

# %% slide="subslide"
table = torch.tensor([[10 * t + f for f in range(4)] for t in range(3)])
show_figure(
    draw.cuts(
        {"split": course.split_heads(table[None], 2)[0], "view": table.view(2, 3, 2)}
    ),
    "Two ways to cut a table of three tokens into two heads, with a colour for each "
    "token. After split each row of a head has a colour of its own. After view there "
    "are rows next to each other with the same colour.",
)

# %% [markdown] slide="skip"
# In this figure colours are tokens. After `view`, head 0 would compare a token with
# itself and take it for two tokens. No shape is wrong, and nothing stops you from
# training it, but a table with readable numbers shows the bug.

# %% [markdown] slide="slide"
# ## W_o: all heads write into the same vector
#
# Side by side, the answers of twelve heads fill the 384 numbers of *it*: the first 32
# come from head 0, the next 32 from head 1, and so on. That is the right width already.
# Why does the formula multiply by one more matrix?

# %% [markdown] slide="notes"
# **2 minutes.** Ask: the width is right. What would go wrong if we stopped here?
#
# Expect: silence, or "nothing".
#
# Say: every head would own 32 of the 384 numbers and could write nowhere else. W_o lets
# each of them write into the whole vector, and what they write is added up.

# %% [markdown] slide="skip"
# Suppose we stopped there. What head 1 has found about *it* could only ever reach
# numbers 32 to 63, and two heads could never write about the same thing in the same
# place. But in lesson 04 this result will be added to the vector that came in, whose
# numbers are not sorted by heads. So each head gets a say in all of the numbers. The
# matrix W_o has 384 rows, and the answer of head *i* meets just 32 of them, the
# **slice** $W_i^O$, which turns 32 numbers into 384. To multiply a row by a matrix is
# to add up the rows of the matrix, each times one number, so the output is a sum with
# one term for each head:
#
# $$\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O =
# \sum_i \mathrm{head}_i\,W_i^O$$

# %% slide="subslide"
show_figure(
    draw.writing(4),
    "For one word: the answers of four heads side by side, two numbers each, times W "
    "o, whose eight rows have the colours of the heads in pairs, equals four vectors "
    "of eight numbers, one written by each head, added up to the output of the word.",
)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: what changes in this picture if head 2 answers with zeros?
#
# Expect: "the green part is missing from the output". Say: yes, one term of a sum; the
# others don't notice.
#
# Say: the heads work apart, and W_o is where they first meet. Then check it on the real
# layer: the twelve terms, and a bias, are the output to five places.

# %% [markdown]
# Check that on a layer of the real model, the one whose head 1 looked at *tired*. The
# cell takes what each of its twelve heads found for *it*, multiplies it by that head's
# slice, and compares the sum with what the layer puts out.

# %% tags=["nbval-check-output"] slide="skip"
layer = attention_layer(2)  # of the real model, in the course's own class
head = one_head(TIRED, layer=2, head=1)
tokens, it = head.tokens, head.tokens.index("it")
x = head.vectors[None]  # (B=1, T, D), what this layer reads

query, key, value = layer.project(x, x, x)  # each (B, H, T, K)
answers, weights = attention(query, key, value, need_weights=True)
W_o = layer.W_o.weight.T  # (D, D); `nn.Linear` keeps it the other way round
slices = W_o.split(answers.shape[-1])  # (K, D) for each head
found = zip(answers[0, :, it], slices, strict=True)
written = torch.stack([answer @ rows for answer, rows in found])  # (H, D)

gap = written.sum(0) + layer.W_o.bias - layer(x, x, x)[0, it]
print("written by the heads:", tuple(written.shape))
print("sum and bias are the output to 1e-5:", bool(gap.abs().max() < 1e-5))

# %% [markdown] slide="subslide"
# So what a layer of attention says to a word can be taken apart, head by head. Which of
# the twelve heads writes most into *it*, and which least? Measure it by the length of
# the vector that each one writes. Make a guess, then run the cell.

# %% [markdown] slide="notes"
# **3 minutes.** Ask, before you press: will a head that looks at `[CLS]` write much?
#
# Expect: "it has the most weight, so yes". Head 11 gives it 0.90 and writes least.
#
# Say: the value of `[CLS]` is almost zero in this layer. A head has to spend all of its
# weight, and here it can spend it on nothing. Lesson 02 left this question open.

# %% tags=["nbval-check-output"] slide="fragment"
for h, row in enumerate(weights[0, :, it]):
    most = f"{tokens[row.argmax()]:8}{row.max():.2f}"
    print(f"head {h:2} looks most at {most}   and writes {written[h].norm():.2f}")

lengths = value[0].norm(dim=-1).mean(0)  # a mean over the heads: (T)
show("value of [CLS]", lengths[0], 2)
show("values of the words", lengths[1:-1].mean(), 2)
ordered = written.norm(dim=-1).argsort()
assert pretrained.source() == "hub" or ordered[[0, -1]].tolist() == [11, 1]

# %% [markdown] slide="skip"
# Three heads look most at *tired* here, and one at *because*: several questions, asked
# at the same time. Head 1 writes the longest vector of all, and the shortest comes from
# head 11, which gives nine tenths of its weight to `[CLS]`. That is no contradiction,
# because in this layer the value of `[CLS]` is almost zero, 0.14 long, while those of
# the words have a length of 3.97 on average. The weights of a softmax always add up to
# 1, so a head that finds nothing still has to put them somewhere, and here they do no
# harm. That is one answer to the question of lesson 02, why so many words look at
# `[CLS]`. In BERT itself it is often `[SEP]` (Clark et al. 2019).

# %% [markdown] exercise="3.C" slide="slide"
# Now the module. Make four layers `W_q`, `W_k`, `W_v` and `W_o`, each an `nn.Linear`
# as it comes: with a bias, because BERT has one there and you will load BERT's numbers.
# Use your functions from 3.A or `course.split_heads` and `course.merge_heads`, and the
# attention that you wrote in 2.B, `mine.scaled_dot_product_attention(query, key, value,
# mask)`. Where it has not passed, `mine` holds the course's, and a line says so.

# %% [markdown] slide="notes"
# **7 minutes.** Say: six steps, and you know all of them; you dictate.
#
# Ask, after each line: what is its shape now?
#
# Expect: W_o before the heads are joined, and work on the mask, which needs none.
#
# Say: the mask broadcasts over the heads as it is; that is why the heads stand where
# they do.

# %% locked=true slide="skip"
mine = OwnParts()
mine.take("2.B")


# %% exercise="3.C"
class MultiHeadAttention(nn.Module):
    """Several heads of attention, each in its part of a width of d_model."""

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

        Takes query (B, T, D), key (B, S, D), value (B, S, D), and a boolean mask,
        True = may attend, that broadcasts to (B, H, T, S).
        Returns output (B, T, D), weights (B, H, T, S).
        """
        ### BEGIN SOLUTION
        #: query = ...  # (B, H, T, K)
        query = course.split_heads(self.W_q(query), self.num_heads)  # (B, H, T, K)
        key = course.split_heads(self.W_k(key), self.num_heads)  # (B, H, S, K)
        value = course.split_heads(self.W_v(value), self.num_heads)  # (B, H, S, K)
        attend = mine.scaled_dot_product_attention
        found, weights = attend(query, key, value, mask)
        return self.W_o(course.merge_heads(found)), weights
        ### END SOLUTION


# %%
check("3.C", MultiHeadAttention)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Each of the three inputs goes through its own layer and is cut into heads. What
# shape does your attention of 2.B need, and does it mind a heads axis?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The mask needs no work: it already broadcasts to (B, H, T, S).
# `mine.scaled_dot_product_attention` scales by the width of the query that it gets, and
# returns two things, the output and the weights.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# project three times; split three times; attention with the mask; merge; W_o; return
# the output and the weights.
# </details>

# %% [markdown]
# With 300 numbers a word, each of four heads gets 75, and one map per head comes back.
# A width of 300 can't be shared among seven heads:

# %%
words = torch.randn(1, 3, 300)  # (B=1, T=3, D=300)
output, weights = MultiHeadAttention(d_model=300, num_heads=4)(words, words, words)
print(tuple(output.shape), tuple(weights.shape))

try:
    course.MultiHeadAttention(300, 7)
except ValueError as error:
    print(f"{type(error).__name__}: {error}")

# %% [markdown] slide="slide"
# ## One head and two heads learn
#
# These are the rows of digits of lesson 02, but now every digit asks two questions:
# which digit stands in my mirror place, and which one just before me?
#
# | row | 3 1 4 1 5 9 2 6 |
# |---|---|
# | mirror place | 6 2 9 5 1 4 1 3 |
# | just before (the last, for the first) | 6 3 1 4 1 5 9 2 |

# %% [markdown] slide="notes"
# **2 minutes.** Ask: one head of 32 numbers, or two heads of 16: how many answers will
# each get right? And where will the single head look?
#
# Expect: "half" for one head, and for the second question "at one of the two places".
#
# Say: write your guess down; both are trained for 300 steps. Anyone who finishes early
# changes `counts` to (1, 2, 4).

# %% [markdown] slide="skip"
# The model is that of lesson 02 with your module in place of the head, and a last layer
# with twenty scores, ten for each question. Both models are 32 numbers wide and have
# the same number of parameters: one spends them on a single head, the other on two
# heads of 16. How many answers will each get right after 300 steps? And where will the
# single head look, when it needs two places? Say both, then run the cell.


# %% slide="skip"
def one_step(own: type[nn.Module]) -> None:
    """What a step of training does, for a model with such an attention."""
    (rows,) = digit_rows(1, size=64, seed=0)
    two_questions_loss(TwoQuestionsModel(own, num_heads=2), rows).backward()


mine.take("3.C", MultiHeadAttention, step=one_step)

counts, steps = (1, 2), 300  # heads of each model; steps of training
(unseen,) = digit_rows(1, size=2000, seed=1000)
losses, maps, right = {}, {}, {}
for num_heads in counts:
    name = f"{num_heads} head" + "s" * (num_heads > 1)
    _ = torch.manual_seed(0)
    model = TwoQuestionsModel(mine.MultiHeadAttention, num_heads)
    losses[name] = learn(model, steps, rate=0.003, seed=0)
    right[name] = shares_right(model, unseen)
    for number, one in enumerate(model(unseen[:1])[1][0].detach()):  # (T, T)
        maps[f"{name}, head {number}"] = one
    print(f"{name:7} mirror {right[name][0]:.2f}, just before {right[name][1]:.2f}")

print(f"always the commonest other digit: {commonest_of_the_others(unseen):.2f}")
as_given = (counts, steps) == ((1, 2), 300)
assert not as_given or min(right["2 heads"]) > 0.97 and sum(right["1 head"]) < 1.5

# %% slide="subslide"
show_figure(
    draw.compared(losses, maps),
    "Left, the loss of two heads falls to nearly 0 within 300 steps, that of one head "
    "stays above 0.3. Right, three maps. The single head has two dark fields in most "
    "rows, on both diagonals. Of the two heads one has a dark line just below the main "
    "diagonal, the other one from the top right to the bottom left.",
)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: which questions do the two maps on the right answer? And what does
# the single head do?
#
# Expect: they find the anti-diagonal of lesson 02. That one head looks at both places
# surprises them.
#
# Say: it looks where it should, and gets a mean. It answers one question, and of the
# other about a third.

# %% [markdown] slide="skip"
# Two heads divide the work: one looks at the digit before, and the other along the
# anti-diagonal that you know from lesson 02. The single head does what you would do. It
# looks at both places, with about half of its weight each, and what it gets is their
# mean. From that the last layer reads one of the answers nearly always, and the other
# little more often than a guess at the commonest other digit is right. (In rows 0 and
# 4, counted from 0, both questions have one answer: the mirror place is the one just
# before.)

# %% [markdown] slide="skip"
# Is a single head unable to do it, then? No, and the difference is worth knowing. From
# three starts, each at the best of four learning rates, it still got below 75 % of all
# answers right after 1,200 steps, and so did a head twice as wide. But put one hidden
# layer with a nonlinearity behind it, and it gets more than 99 % as well
# (`docs/experiments.md` has the table), so both digits are in the mixture. And from a
# lucky start even the plain model got there: its single head learned to share its
# weight differently for different digits. With two heads the solution is easy to find.
# Try it: set `steps` to 1200, or `counts` to (1, 4).

# %% [markdown] slide="slide"
# ## What attention can't see: the order
#
# *The animal did not cross the street. The street did not cross the animal.* The words
# are the same and two of them have changed places. Give both to layer 0 of the real
# model and look at *cross*: will its output be the same?

# %% [markdown] slide="notes"
# **2 minutes.** Ask: same or different, for *cross*? And if no word had a position?
#
# Expect: "different, of course". Without positions it is the same to the last digit
# shown.
#
# Say: a score compares two vectors, and never asks where they stand.

# %% [markdown] slide="skip"
# We do it twice: once as the model reads it, with a vector for each position added to
# the words (lesson 01), and once with the same position for every word, so that nothing
# tells the places apart. How far apart will the two outputs for *cross* be?

# %% tags=["nbval-check-output"] slide="fragment"
embed = pretrained.load_encoder().embeddings
tokenizer, first_layer = pretrained.load_tokenizer("encoder"), attention_layer(0)


@torch.no_grad()
def output_of_cross(text: str, with_positions: bool) -> Tensor:
    """What layer 0 tells *cross*: (D)."""
    ids = tokenizer(text, return_tensors="pt")["input_ids"]  # (B=1, T)
    places = torch.arange(ids.shape[1])[None] if with_positions else 0 * ids
    x = embed(input_ids=ids, position_ids=places)  # (B, T, D)
    cross = tokenizer.convert_ids_to_tokens(ids[0]).index("cross")
    return first_layer(x, x, x)[0, cross]


for with_positions in (True, False):
    one = output_of_cross("The animal did not cross the street", with_positions)
    other = output_of_cross("The street did not cross the animal", with_positions)
    show(
        f"positions {with_positions}: length {one.norm():.2f}, apart",
        (one - other).norm(),
        2,
    )

# %% [markdown] slide="subslide"
# Without positions *cross* gets the same vector, whoever crosses. With them its output,
# 2.69 long, moves by 0.19. This is *the* property of attention, and it is called
# **permutation equivariance**: if the words that go in change places, the outputs
# change places in the same way, and nothing else happens. With a matrix P that reorders
# the rows, and f for attention:
#
# $$f(PX) = P\,f(X)$$

# %% [markdown] slide="notes"
# **2 minutes.** Ask: which lines of your module would have to change for another order?
#
# Expect: "none". Say: the same three matrices serve every row, and a weighted sum
# doesn't care in which order its terms are added.
#
# Say: so order has to come in with the vectors, as positions, or with a mask.

# %% [markdown] slide="skip"
# You can see why in your own code. Each row meets the same three matrices, each query
# meets all keys, and a weighted sum is the same in whatever order its terms are added.
# Nowhere is a row told its place. So without positions a Transformer takes a text for a
# bag of words, unless a mask lets each word see only those before it (lesson 06). The
# property is also a gift: it holds for every right layer, whatever its weights, so you
# can test it.

# %% [markdown] exercise="3.D" slide="slide"
# Write that test. `treats_tokens_alike(layer)` takes any layer (5, 8) → (5, 8), five
# tokens with eight features each. **Shuffle the tokens** that go in: a right layer
# gives the same outputs, shuffled in the same way, up to rounding, so allow for about
# 1e-5. Your test will meet eleven layers, and eight of them are wrong.


# %% exercise="3.D"
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
check("3.D", treats_tokens_alike)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# If tokens 0 and 3 change places in the input, where do you find the result that
# token 0 had before?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `x[order]` with a tensor of places puts the rows in that order. Use an order without
# a pattern: reversed or moved along, neighbours are still neighbours. And compare with
# room for rounding.
# </details>

# %% [markdown]
# Ask your test about three layers: your own module, the same with a vector for each
# position added, and a mean over all tokens. What will it say?

# %%
own = mine.MultiHeadAttention(8, 2).requires_grad_(False)
places = torch.randn(5, 8)


def yours(x: Tensor) -> Tensor:
    """Self-attention of your module: (5, 8) -> (5, 8)."""
    return own(x[None], x[None], x[None])[0]


print("yours:         ", treats_tokens_alike(yours))
print("with positions:", treats_tokens_alike(lambda x: yours(x + places)))
print("mean of all:   ", treats_tokens_alike(lambda x: x.mean(0).expand(5, 8)))

# %% [markdown] slide="skip"
# The mean passes, and rightly so: all tokens are alike to it.

# %% [markdown] slide="slide"
# ## Your module is a layer of a real model
#
# This is the attention of layer 0 of all-MiniLM-L6-v2, the encoder of the BERT family
# that you know: 6 layers, 12 heads, d_model 384. Which of these names are W_q, W_k, W_v
# and W_o?

# %% [markdown] slide="notes"
# **1 minute.** Ask: find the four layers. Which name is misleading?
#
# Expect: `output.dense` comes last.
#
# Say: 3.E copies their numbers into your class, and your weights are then the
# library's. The layer norm waits for lesson 04.

# %% tags=["nbval-check-output"]
bert = pretrained.load_encoder("encoder", attn_implementation="eager")
inputs = tokenizer(TIRED, return_tensors="pt")
with torch.no_grad():
    outputs = bert(**inputs, output_attentions=True, output_hidden_states=True)

tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
print(len(outputs.attentions), "layers of", tuple(outputs.attentions[0].shape))
print(bert.encoder.layer[0].attention)

# %% [markdown]
# (The library's default kernel never stores its weights;
# `attn_implementation="eager"` makes it keep them for us.)

# %% [markdown] exercise="3.E"
# Copy its numbers into a module like yours. *Copy*: training yours later must not
# change theirs. Return your module.


# %% exercise="3.E"
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
check("3.E", load_pretrained_attention)

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
# and the library's weights are compared with yours. Below 1e-5 it is rounding.

# %%
x = outputs.hidden_states[0]  # (B=1, T, D): what layer 0 reads
theirs = bert.encoder.layer[0].attention
layer = MultiHeadAttention(bert.config.hidden_size, bert.config.num_attention_heads)
layer = load_pretrained_attention(layer, theirs)
with torch.no_grad():
    output, weights = layer(x, x, x)
    normed = theirs.output.LayerNorm(output + x)  # what BERT does next: lesson 04
for name, gap in (
    ("weights", weights - outputs.attentions[0]),
    ("output", normed - theirs(x)[0]),
):
    print(f"{name} equal to 1e-5:", bool(gap.abs().max() < 1e-5))

# %% [markdown] slide="slide"
# ## What do the heads look at?
#
# Here are the twelve maps of layer 0 for our sentence. Each row belongs to a word that
# asks, and one of the heads is unlike all the others.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: which head is unlike the others, and what does it look at?
#
# Expect: they find it at once, and half of them read it the wrong way round. Say:
# follow one row: the word is the query, the dark field stands over the key.
#
# Say: 3.F puts a number on such looks, so that you need not trust your eyes.

# %%
show_figure(
    draw.head_maps(outputs.attentions[0][0], tokens),
    "Attention maps of the twelve heads of layer 0, a row for each token of the "
    "sentence. Most are spread out over several columns, and one is sharp. The next "
    "exercise puts numbers on them.",
)

# %% [markdown] exercise="3.F"
# Put a number on it. For every head: how much weight does a query give on average to
# the **previous** token, to **itself**, and to all **[SEP]** tokens together? The
# first token has no previous one, so leave it out of that mean.


# %% exercise="3.F"
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
check("3.F", head_scores)

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
for number, weights in enumerate(outputs.attentions):
    previous, itself, separator = head_scores(weights[0], tokens)
    print(f"layer {number}, previous:", *(f"{score:.2f}" for score in previous))

# %% [markdown] exercise="3.G"
# In the bundled checkpoint one head does nothing but look at a neighbour. Which one,
# as (layer, head), and does it look at the `"previous"` token, the `"next"` or
# `"itself"`?

# %% exercise="3.G"
### BEGIN SOLUTION
neighbour_head = (0, 2)
looks_at = "previous"
### END SOLUTION

# %%
check("3.G", neighbour_head, looks_at)

# %% [markdown] slide="skip"
# <details><summary>Hint: a pointer</summary>
#
# Look for the darkest map above. Follow one row: the word is the query, the dark
# field stands over the key.
# </details>

# %% [markdown] slide="subslide"
# Does that head read the words, or the positions? Give the model nonsense: *banana
# seven of the rather quickly moon*. If the head still looks one token back, it has no
# interest in words. And what is left of it if you average over the twelve heads, as
# many plots do?

# %% [markdown] slide="notes"
# **2 minutes.** Ask: words or positions? And what does the mean over twelve heads show?
#
# Expect: "positions". Few expect the mean to hide it so well.
#
# Say: nobody asked for such a head; training made it. Never average before you look.

# %% tags=["nbval-check-output"] slide="fragment"
found = torch.stack(outputs.attentions)[:, 0].diagonal(-1, -2, -1).mean(-1)
number = int(found[0].argmax())  # of the head, in layer 0

for text in (TIRED, "banana seven of the rather quickly moon"):
    with torch.no_grad():
        made = bert(**tokenizer(text, return_tensors="pt"), output_attentions=True)
    maps = made.attentions[0][0]  # (H, T, T)
    print(text)
    show(
        "  that head: least weight on the token before", maps[number].diagonal(-1).min()
    )
    show("  all heads averaged: mean weight on it", maps.mean(0).diagonal(-1).mean())
    assert pretrained.source() == "hub" or maps[number].diagonal(-1).min() > 0.99
resting = torch.stack(outputs.attentions)[:, 0, :, :, 0].mean(-1) > 0.5  # (layers, H)
assert pretrained.source() == "hub" or resting.sum() == 31

# %% [markdown] slide="skip"
# It gives the token before more than 0.99 of its weight, for words and for nonsense, so
# it goes by the positions. Averaged over the heads, 0.16 and 0.21 are left, which
# nobody would notice. And `[CLS]`, where nothing is to be found? In this sentence 31 of
# the 72 heads give it more than half of their weight.

# %% [markdown]
# Now the sentence is yours. The figure begins with the head that finds the animal.
# Replace *tired* by *wide*, press Enter and look at the row of *it*. Then write a
# sentence of your own with a pronoun in it, go through layers and heads, and see
# whether you find a head that looks from the pronoun to the right word, and one that
# links verbs with their objects. Whatever you find, try it on a second sentence before
# you believe it.


# %% slide="skip"
def look(text: str) -> tuple[Tensor, list[str]]:
    """The weights of all heads (layers, H, T, T), and the T tokens, at most 20."""
    read = tokenizer(text, return_tensors="pt", truncation=True, max_length=20)
    with torch.no_grad():
        weights = torch.stack(bert(**read, output_attentions=True).attentions)[:, 0]
    return weights, tokenizer.convert_ids_to_tokens(read["input_ids"][0])


# %% slide="subslide"
play(draw.own_sentence(look, TIRED, layer=3, head=1))

# %% [markdown] slide="slide"
# ## Bugs from the wild
#
# Three mistakes from published code. None of them raises an error.

# %% [markdown]
# **Projections across the tokens.** Here is a multi-head attention with
# `nn.Linear(...)(x.T).T`. A linear layer works on the last axis, and after `.T` that is
# the *tokens*. So the scores are 8 × 8, between mixtures of tokens. And as the layers
# are made inside the function, two calls differ, and nothing is ever learned. Will your
# test of 3.D notice?


# %% locked=true
def blog_multi_head(x, num_heads=2, d_model=8):
    """What was published as multi-head attention, in our words."""
    found = []
    for _ in range(num_heads):
        parts = [nn.Linear(len(x), d_model)(x.T).T for _ in range(3)]
        found.append(attention(*parts))  # (d_model, features)
    return nn.Linear(num_heads * d_model, len(x))(torch.cat(found).T).T


# %%
print("it treats tokens alike:", treats_tokens_alike(blog_multi_head))
five = torch.tensor([[0.3], [-0.4], [1.1], [0.6], [-0.2]])  # (T=5, one feature)
with torch.no_grad():
    first, second = blog_multi_head(five), blog_multi_head(five)
print("shape", tuple(first.shape), "| twice the same:", torch.equal(first, second))

# %% [markdown]
# **The last result.** `attention = outputs[-1]` stands in many notebooks, and it was
# right once. Today the last entry is another one, and here it is empty. Take results
# by name: `outputs.attentions`.

# %% tags=["nbval-check-output"]
print(list(outputs.keys()))
print("outputs[-1]:", outputs[-1])

# %% [markdown]
# **The averaged map.** A plot of "the attention" that shows one map for a layer shows
# the mean over its heads, in which a sharp head drowns, as you have seen. Exercise 3.H
# below finds out how such a map comes about without anybody asking for a mean.

# %% [markdown] slide="slide"
# ## Going further
#
# From here on everything is optional. You have the whole of multi-head attention; what
# follows looks at how libraries write it, at two more bugs, at tools, and at the choice
# of d_head.

# %% [markdown]
# ### What the real libraries do

# %% [markdown]
# The course's own version, `course.MultiHeadAttention`, keeps the three projections in
# one matrix, as torch's `nn.MultiheadAttention` does, and returns weights only on
# request (torch returns them unless told not to). With the same numbers in them, the
# two agree, padding included:

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

# %% [markdown] exercise="3.H"
# Three heads went in, and (2, 5, 5) weights came out: one map, not three. A colleague
# who plots it finds that "no head looks at its neighbour". Read the signature. Which
# **argument of the call** did they leave at its default? Store its name as a string.

# %% locked=true
import inspect

print(*inspect.signature(nn.MultiheadAttention.forward).parameters, sep="\n")

# %% exercise="3.H"
### BEGIN SOLUTION
missing_argument = "average_attn_weights"
### END SOLUTION

# %%
check("3.H", missing_argument)

# %% [markdown] slide="skip"
# <details><summary>Hint: a pointer</summary>
#
# `nn.MultiheadAttention?` explains each argument. What can turn three maps into one?
# </details>

# %% [markdown]
# ### One layer instead of three

# %% [markdown] exercise="3.J"
# `to_qkv` maps D to 3 D: the first third of its output is the query of all heads, the
# second the key, the last the value. It serves self-attention only, so `forward` takes
# one x. (There is no 3.I: I and O look like 1 and 0.)


# %% exercise="3.J"
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
check("3.J", FusedSelfAttention)

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
# Is it the same as three layers? Stack their weights below each other, and one product
# gives what three gave. The number of multiplications does not change, but two calls
# are saved.

# %% tags=["nbval-check-output"]
x = torch.randn(2, 5, 12, dtype=torch.float64)
W_q, W_k, W_v = (nn.Linear(12, 12).double() for _ in range(3))
stacked = torch.cat([W_q.weight, W_k.weight, W_v.weight])  # (3 D, D)
biases = torch.cat([W_q.bias, W_k.bias, W_v.bias])
together = nn.functional.linear(x, stacked, biases)  # (B, T, 3 D)
apart = torch.cat([W_q(x), W_k(x), W_v(x)], -1)
print("same to 1e-12:", bool((together - apart).abs().max() < 1e-12))

# %% [markdown]
# ### Another style: every head its own layers

# %% [markdown]
# You will meet code that takes the formula literally: a list of small layers, one per
# head, and a d_head of its own that need not be d_model / num_heads. In this style the
# heads' answers side by side are H × K wide, and W_o leads back to D.

# %% [markdown] exercise="3.K"
# Write it. `W_q`, `W_k` and `W_v` are `nn.ModuleList`s with one `nn.Linear(d_model,
# d_head)` per head; `W_o` brings the heads back to d_model. A loop is fine.


# %% exercise="3.K"
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
        """Let every token of x (B, T, D) look at every token, head by head.

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
check("3.K", HeadByHead)

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
# The two styles agree: with d_head = d_model / num_heads, here 4, the small layer of
# head h is rows 4 h to 4 (h + 1) of the large one.

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

# %% [markdown] exercise="3.L" slide="slide"
# Here are 8 heads of 64 numbers each on a width of 64. Which two numbers should
# `to_out` get, as a tuple (in, out)? And with which **d_head** would no shape have been
# wrong?

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

# %% exercise="3.L"
### BEGIN SOLUTION
right_layer = (512, 64)
hiding_d_head = 8
### END SOLUTION

# %%
check("3.L", right_layer, hiding_d_head)

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

# %% [markdown] slide="slide"
# ### A matrix moves the plane: by hand
#
# What does a projection do to a vector? Take a pencil: where does the matrix A send the
# vector v = (1, 1)?
#
# $$A = \begin{pmatrix} -0.7 & 1 \\ 1 & -0.2 \end{pmatrix}$$

# %% tags=["nbval-check-output"]
A = torch.tensor([[-0.7, 1.0], [1.0, -0.2]])
v = torch.tensor([1.0, 1.0])

show("A v", A @ v)  # row times vector: -0.7 + 1, 1 - 0.2
show("as a linear layer without a bias", nn.functional.linear(v, A))
show("length of v, before and after", torch.stack([v.norm(), (A @ v).norm()]))
show("determinant of A", torch.linalg.det(A))

# %%
show_figure(
    draw.plane(A, v),
    "The plane as a square grid with the vector (1, 1), and the same plane after A: "
    "the grid is slanted and turned over, and the vector has moved to (0.3, 0.8).",
)

# %% [markdown]
# The grid is slanted, and it is turned over like a page, which is what the negative
# determinant says. Lengths and angles have changed: v is shorter, and the two axes no
# longer meet at a right angle. So vectors that pointed nearly the same way before may
# be far apart afterwards. In a head it is the same with 384 numbers that become 32.
# Which words look alike to a head depends on its matrices, and these are learned.

# %% [markdown] slide="slide"
# ### Look around: BertViz
#
# BertViz (Vig 2019) draws the same weights so that you can click on them. *Model view*
# shows every head; *head view* shows one layer as lines from query (left) to key
# (right). Hover over a word.

# %% tags=["nbval-ignore-output"]
bertviz.model_view(outputs.attentions, tokens)

# %% tags=["nbval-ignore-output"]
bertviz.head_view(outputs.attentions, tokens, layer=0, heads=[2])

# %% [markdown]
# Try your own sentence, "I love transformers" for a start, or a smaller or larger
# encoder of the Hub such as `microsoft/xtremedistil-l12-h384-uncased`: any name with a
# slash works in `pretrained.load_encoder`, once you are online.

# %% tags=["nbval-check-output"]
inputs = tokenizer("I love transformers", return_tensors="pt")
with torch.no_grad():
    short = bert(**inputs, output_attentions=True)
print(*tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]))
show("layer 0, head 2", short.attentions[0][0, 2], 2)

# %% slide="subslide"
show_figure(
    draw.all_heads([weights[0] for weights in outputs.attentions]),
    "Small attention maps of all 6 layers with 12 heads each. One is a sharp diagonal, "
    "and in later layers many show a dark first column.",
)

# %% [markdown]
# ### Why not wider heads?

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
# ## What you can do now
#
# You can write multi-head attention as a module: project, cut into heads, attend, join,
# and let W_o add up what the heads have found. You can say what a single head loses
# where two answers are wanted at once, and what a second one changes. You can test any
# such layer by shuffling its tokens, and know that order has to come in with the
# positions. And you have put the numbers of a real layer into your own class, and found
# out what one of its heads looks at.
#
# The layer's output is a vector for each word, and the next step adds it to the vector
# that the word had before. Lesson 04 builds what surrounds your module, until it is a
# whole encoder, and that encoder will take your class just as it is.

# %% [markdown] slide="notes"
# **3 minutes.** Ask: each of you tells a neighbour what W_o is for, without saying
# "matrix".
#
# Expect: "it mixes the heads". Push for more: each head writes, and the writings are
# added up.
#
# Say: the sum doesn't stop here. In lesson 04 it is added to the word itself. Then take
# their questions.

# %% [markdown] slide="skip"
# **References.** Vaswani et al. 2017, *Attention Is All You Need* (arXiv 1706.03762),
# section 3.2.2 and table 3. Vig 2019, *A Multiscale Visualization of Attention*
# (arXiv 1906.05714). Clark et al. 2019, *What Does BERT Look At?* (arXiv 1906.04341).
# Michel et al. 2019, *Are Sixteen Heads Really Better than One?* (arXiv 1905.10650).
# Elhage et al. 2021, *A Mathematical Framework for Transformer Circuits*, for heads
# that write into one vector. Wang et al. 2020, *MiniLM* (arXiv 2002.10957), for the
# family of the bundled encoder.
