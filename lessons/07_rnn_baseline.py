# %% [markdown] slide="slide"
# # 07 Recurrent networks: what the Transformer had to beat
#
# **How does a network remember what it has read, and for how long?**
#
# You need: lesson 06, and for the end lesson 02. Time: {minutes}. Run in one go, the
# notebook takes {run time} on one core, most of it for the three trainings at the end.

# %% [markdown] slide="subslide"
# At the end of this lesson you can
#
# - write an RNN, an LSTM and a GRU from their formulas;
# - cut a text into batches, and train through time without three classic bugs;
# - sample text with temperature and top-k;
# - measure how far back a network remembers, and argue about it with numbers.

# %% [markdown] slide="notes"
# 45 minutes: tables that run out of rows (5), the series by hand (5), batches and the
# RNN, 7.C to 7.E (12), the three messages of 7.F (5), gates (8), curves and samples
# (6), influence (4). Start the training cell before the break. Leave 7.A, 7.B, 7.K and
# 7.P for the lab. Usual trouble: rows that do not go on, and which axis is time.

# %%
import math
import textwrap
import time
from collections import Counter, defaultdict

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import device, show
from helpers.checks import check
from helpers.corpora.sonnets import load_text, split_text
from helpers.experiments import character_models
from helpers.figures import recurrent as draw
from helpers.figures import show_figure
from helpers.models import recurrent
from helpers.student.own_parts import OwnParts
from helpers.text import characters

_ = torch.manual_seed(7)

# %% [markdown]
# **Letters in shape comments**: `B` batch, `T` time (length), `V` vocabulary, `D` size
# of an input, `N` size of the hidden state. Time is an axis like any other: (B, T, N).

# %% [markdown] slide="slide"
# ## Why: a table that runs out of rows
#
# Guess the next character of a text. The course brings 160 sonnets of its own. Every
# tenth is held out. We measure in **bits per character**: the mean of
# $-\log_2 p(\text{next})$ on text that was never seen.

# %% tags=["nbval-check-output", "characters"]
text = load_text()
train_text, held_out_text = split_text(text)
alphabet = characters.Characters.of(text)
print(f"{len(text):,} characters, {len(alphabet)} different ones")
print(f"{len(train_text):,} to learn from, {len(held_out_text):,} held out")
print(f"knowing nothing: log2({len(alphabet)}) = {math.log2(len(alphabet)):.2f} bits")

# %% [markdown]
# The oldest idea: count. For every piece of `context` characters, count what came after
# it in the training text. (Each count gets 0.05 on top, or a character never seen there
# would cost infinitely many bits.)


# %%
def table_bits(context: int) -> tuple[float, int]:
    """Bits per held-out character of a table, and how many rows it has."""
    table = defaultdict(Counter)
    for n in range(context, len(train_text)):
        table[train_text[n - context : n]][train_text[n]] += 1
    bits = 0.0
    for n in range(context, len(held_out_text)):
        row = table.get(held_out_text[n - context : n], Counter())
        share = (row[held_out_text[n]] + 0.05) / (row.total() + 0.05 * len(alphabet))
        bits -= math.log2(share)
    return bits / (len(held_out_text) - context), len(table)


# %% tags=["nbval-check-output"]
by_counting = {}
for context in range(6):
    by_counting[context], rows = table_bits(context)
    possible = len(alphabet) ** context
    print(f"{context} characters: {by_counting[context]:.2f} bits, ", end="")
    print(f"{rows:,} of {possible:,} rows seen")
assert min(by_counting, key=by_counting.get) == 3

# %% [markdown]
# Memory helps: three characters of context save almost two bits against none. Then the
# table gets worse, because most of its rows were never seen. A table does not know that
# *the cat* and *the car* are alike. We need a memory of fixed size that **sums up**
# what was read.

# %% [markdown] slide="slide"
# ## A neuron, and why it bends
#
# Everything becomes numbers. A neuron weighs its inputs, adds a bias and bends the
# result: $y = f(w \cdot x + b)$. The weights are learned, the bend $f$ is chosen.
# Without a bend, a hundred layers are worth one.

# %% tags=["nbval-check-output"]
w, x, b = torch.tensor([0.5, -1.0]), torch.tensor([2.0, 0.7]), 0.3
total = w @ x + b  # 1.0 - 0.7 + 0.3
show("sum", total)
for name, bend in (("sigmoid", torch.sigmoid), ("tanh", torch.tanh)):
    show(name, bend(total))

# %% slide="subslide"
show_figure(
    draw.activations(),
    "Three curves with their slopes. Sigmoid: from 0 to 1, steepest at 0 with slope "
    "0.25. tanh: from -1 to 1, slope 1 at 0. ReLU: 0, then a straight line; its slope "
    "jumps from 0 to 1.",
)

# %% [markdown]
# The **sigmoid** gives 0 to 1: a probability, or how far a door is open. **tanh** gives
# −1 to 1: a value with a sign. **ReLU** is cheap, and the usual choice in deep stacks
# (lesson 04). The dashed slopes decide how well a network learns.

# %% [markdown] exercise="7.A"
# Give the slope of all three at every entry of `x`, by formula, not by autograd:
# $\sigma' = \sigma(1-\sigma)$, $\tanh' = 1 - \tanh^2$, and for the ReLU look at the
# figure. No slope may be NaN, not even where x is 0, 800 or −800. (At 0 the ReLU has a
# corner: any slope from 0 to 1 is right there.)


# %% exercise="7.A"
def slopes(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """How steep sigmoid, tanh and ReLU are.

    Args:
        x: any shape; 0 may occur, and numbers as large as 800 on both sides

    Returns:
        Three tensors of the shape and dtype of x: the slopes of sigmoid, tanh, ReLU.
    """
    ### BEGIN SOLUTION
    s = torch.sigmoid(x)
    t = torch.tanh(x)
    return s * (1 - s), 1 - t**2, (x > 0).to(x.dtype)
    ### END SOLUTION


# %%
check("7.A", slopes)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# In the formulas stands the *value* of the function, not x. What do you compute first?
# </details>

# %%
for name, slope in zip(
    ("sigmoid", "tanh", "ReLU"), slopes(torch.tensor([-3.0, 1.0, 3.0])), strict=True
):
    show(name, slope)

# %% [markdown] slide="slide"
# ## By hand: a series with a memory
#
# Statistics knew it long before: the next value is a share of the last one plus
# something new. AR(1): $y_t = \varphi\, y_{t-1} + \varepsilon_t$. Push once,
# $\varepsilon = 1, 0, 0, \dots$, and watch the echo for $\varphi = 0.5$.

# %% tags=["nbval-check-output"]
push = [1.0] + [0.0] * 5
y, plain = 0.0, []
for now in push:
    y = 0.5 * y + now
    plain.append(y)
print("AR(1):    ", [round(value, 4) for value in plain])

# %% [markdown]
# Halved at each step: 1, ½, ¼ ... An ARMA series also remembers the last *push*, with a
# weight of its own: $y_t = \varphi\, y_{t-1} + \theta\, \varepsilon_{t-1} +
# \varepsilon_t$. (In general it takes the last *p* values and *q* pushes.)

# %% tags=["nbval-check-output"]
y, before, averaged = 0.0, 0.0, []
for now in push:
    y = 0.5 * y + 0.4 * before + now
    before = now
    averaged.append(y)
print("ARMA(1,1):", [round(value, 4) for value in averaged])

# %% [markdown]
# Now bend the AR(1) with a tanh: $h_t = \tanh(0.5\, h_{t-1} + x_t)$. Check the first
# two with a calculator: tanh(1) = 0.7616, tanh(0.3808) = 0.3634. That is a recurrent
# network with one hidden unit.

# %% tags=["nbval-check-output"]
h, bent = 0.0, []
for now in push:
    h = math.tanh(0.5 * h + now)
    bent.append(h)
print("with tanh:", [round(value, 4) for value in bent])

# %%
show_figure(
    draw.echoes({"AR(1)": plain, "ARMA(1,1)": averaged, "with tanh": bent}),
    "Three echoes of one push. AR(1) halves at each step from 1; ARMA(1,1) is at 0.9 "
    "next and then halves; with tanh it starts at 0.76 and fades a little faster.",
)

# %% [markdown]
# $h_t$ sums up the whole past in one number. Text needs more of them, say 512, and then
# $\varphi$ becomes a matrix. All three echoes fade. Keep that in mind.

# %% [markdown] slide="slide"
# ## A text as numbers
#
# The vocabulary is a string of characters; a character's id is its place in it.

# %% [markdown] exercise="7.B"
# Write both directions. `decode(encode(text))` must give the text back.


# %% exercise="7.B"
def encode(text: str, characters: str) -> Tensor:
    """The place of each character in the vocabulary.

    Args:
        text: T characters
        characters: the vocabulary, each character once

    Returns:
        (T,), int64: the dtype of torch's indices
    """
    ### BEGIN SOLUTION
    place = {one: number for number, one in enumerate(characters)}
    return torch.tensor([place[one] for one in text])
    ### END SOLUTION


def decode(ids: Tensor, characters: str) -> str:
    """The text that (T,) ids stand for."""
    ### BEGIN SOLUTION
    found = [characters[number] for number in ids.tolist()]
    return "".join(found)
    ### END SOLUTION


# %%
check("7.B", encode, decode)

# %% [markdown] slide="skip"
# <details><summary>Hint: a pointer</summary>
#
# A string can be indexed like a list. For the other direction build a dictionary once,
# from character to place.
# </details>

# %%
ids = encode("a hen", alphabet.characters)
print(ids, repr(decode(ids, alphabet.characters)))

# %% [markdown] slide="slide"
# ## Batches that go on
#
# One long text, B rows at once. Lay it out in B long rows, then cut the rows into
# pieces of T. Row 0 of the second batch **goes on** where row 0 of the first stopped:
# so the memory after one batch is right for the next.

# %% tags=["nbval-check-output"]
line = "In a wood a fox met a hen."
pieces = characters.batches(alphabet.encode(line), batch_size=2, length=4)
for number, (x, y) in enumerate(pieces):
    for row in range(2):
        read, due = alphabet.decode(x[row]), alphabet.decode(y[row])
        print(f"batch {number}, row {row}: reads {read!r}, should say {due!r}")

# %% [markdown]
# After *every* character the network predicts the next one: B · T predictions per
# batch, not one.

# %% [markdown]
# This lesson follows a blog post, with code, that trained such networks; from here on
# it is called **the source** (its title stands near the end). It speaks of "using the
# last hidden state to predict the next word". In its code, too, *each* state predicts
# its next *character*.

# %% [markdown] exercise="7.C"
# Write `batches`. With L characters there are n = (L − 1) // (B · T) batches: the last
# target needs a character, too. Row b begins at place b · n · T. What is left over at
# the end is not used.


# %% exercise="7.C"
def batches(ids: Tensor, batch_size: int, length: int) -> list[tuple[Tensor, Tensor]]:
    """Cut a text into batches whose rows go on from batch to batch.

    Args:
        ids: (L,)
        batch_size: B
        length: T

    Returns:
        n pairs: input (B, T), and target (B, T), the next character of each
    """
    ### BEGIN SOLUTION
    #: n = ...  # how many batches
    #: inputs = ...  # (B, n * T)
    #: targets = ...  # (B, n * T)
    n = (len(ids) - 1) // (batch_size * length)
    used = n * batch_size * length
    inputs = ids[:used].reshape(batch_size, n * length)
    targets = ids[1 : used + 1].reshape(batch_size, n * length)
    columns = [slice(k * length, (k + 1) * length) for k in range(n)]
    return [(inputs[:, some], targets[:, some]) for some in columns]
    ### END SOLUTION


# %%
check("7.C", batches)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Write the numbers 0 to 12 in 2 rows of 6. Where do the pieces of length 3 lie? Which
# number is the target of 11?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Two slices of `ids`, one of them moved by a character, both laid out with `reshape`.
# Then cut along the time axis.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# count the batches; take the characters that are used; lay them out in B rows; the same
# for the characters one further on; cut both into pieces of T columns.
# </details>

# %%
for x, y in batches(torch.arange(14), 2, 3):
    print(x.tolist(), "→", y.tolist())

# %% [markdown]
# The source moved its targets with `torch.roll(ids, -1)`. Find the wrong target below:
# the roll takes the first character to the end. One target of 24 here, one of 7 · 128 ·
# 100 = 89,600 there. Nobody would ever see it in a loss curve.

# %% tags=["nbval-check-output"]
rolled = torch.roll(alphabet.encode(line)[:24], -1)
print("the true next one:", repr(line[1:25]))
print("rolled:           ", repr(alphabet.decode(rolled)))

# %% [markdown] slide="slide"
# ## The recurrent network
#
# $$h_t = \tanh(W_x x_t + W_h h_{t-1} + b) \qquad \text{logits}_t = W_y h_t + b_y$$
#
# The same weights at every step. $x_t$ is one-hot. $h_0$ is zero. Learned are three
# matrices and two biases; the state is not learned, it is computed.

# %%
show_figure(
    draw.unrolled("hens,"),
    "An RNN unrolled over the word hens. Each state gets an arrow from the state "
    "before (W_h) and from the character read (W_x), and sends one to the next "
    "character, which it predicts (W_y).",
)

# %% [markdown] exercise="7.D"
# Write one step, for a batch. The weights are laid out like those of `nn.Linear`: a row
# per hidden unit.


# %% exercise="7.D"
def rnn_step(x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Tensor:
    """Read one input per row.

    Args:
        x: (B, D)
        h: (B, N), the states before
        W_x: (N, D)
        W_h: (N, N)
        b: (N,)

    Returns:
        The new states, (B, N).
    """
    ### BEGIN SOLUTION
    total = x @ W_x.T + h @ W_h.T + b  # (B, N)
    return total.tanh()
    ### END SOLUTION


# %%
check("7.D", rnn_step)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# The formula is for one column vector. Here x lies in rows, (B, D), and W_x is (N, D).
# What has to be turned, so that the D axes meet?
# </details>

# %% [markdown]
# In torch this is `nn.RNNCell`. The check compared yours with the course's own step,
# and the course's tests put `nn.RNNCell` through the same check. Here is the step of
# the course's models against it, on copied weights.

# %% tags=["nbval-check-output"]
cell = nn.RNNCell(3, 5)
x, h = torch.randn(2, 3), torch.randn(2, 5)
read = F.linear(x, cell.weight_ih, cell.bias_ih)
ours = recurrent.rnn_step(read, h, cell.weight_hh, cell.bias_hh)
print("equal to nn.RNNCell:", torch.allclose(ours, cell(x, h), atol=1e-6))

# %% [markdown] exercise="7.E"
# Now the whole network, as a module: three `nn.Linear`, two of them with a bias, in
# `__init__`; the loop over time in `forward`. It takes a state to go on with, and gives
# the last one back. Gradients flow through both.


# %% exercise="7.E"
class RNN(nn.Module):
    """Reads characters and predicts, after each, the next one."""

    def __init__(self, vocab_size: int, hidden_size: int) -> None:
        """Create W_x (V to N, no bias), W_h (N to N, with b), W_y (N to V, b_y)."""
        super().__init__()
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        ### BEGIN SOLUTION
        self.W_x = nn.Linear(vocab_size, hidden_size, bias=False)
        self.W_h = nn.Linear(hidden_size, hidden_size)
        self.W_y = nn.Linear(hidden_size, vocab_size)
        ### END SOLUTION

    def forward(
        self, ids: Tensor, state: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Read step by step.

        Args:
            ids: (B, T)
            state: (B, N); None means zeros

        Returns:
            logits (B, T, V), and the state after the last character (B, N)
        """
        x = F.one_hot(ids, self.vocab_size).float()  # (B, T, V)
        ### BEGIN SOLUTION
        #: logits = []
        if state is None:
            state = x.new_zeros(len(x), self.hidden_size)
        logits = []
        for now in x.unbind(dim=1):  # (B, V)
            state = torch.tanh(self.W_x(now) + self.W_h(state))
            logits.append(self.W_y(state))
        return torch.stack(logits, dim=1), state
        ### END SOLUTION


# %%
check("7.E", RNN)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which state does the first step begin with, and which one the second? What leaves each
# step?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `x[:, t]` is (B, V): what all rows read at time t. `torch.stack` glues a list of
# tensors along a **new** axis; say which.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# zeros if there is no state; for each time: new state from character and state, logits
# from the new state; stack the logits along the time; return both.
# </details>

# %%
logits, state = RNN(vocab_size=61, hidden_size=8)(alphabet.encode("a hen")[None])
print("logits", tuple(logits.shape), "state", tuple(state.shape))

# %% [markdown]
# No softmax: the logits go into `F.cross_entropy` as they are. And nothing else in the
# module: text, vocabulary, training loop and printing live elsewhere. The source had
# all of it inside its `nn.Module`, where none of it can be used or tested alone.

# %% [markdown] slide="slide"
# ## How many weights?
#
# The source reports 325,181 parameters and not the sizes. Count: $W_x$ is V·N, $W_h$ is
# N·N, $b$ is N, $W_y$ is N·V, $b_y$ is V. With 61 characters, which N fits?

# %% tags=["nbval-check-output"]
V = len(alphabet)
for N in (256, 512, 1024):
    print(f"N = {N}: {V * N + N * N + N + N * V + V:,}")
assert V * 512 + 512**2 + 512 + 512 * V + V == 325_181

# %% tags=["nbval-check-output"]
big = recurrent.CharacterModel(V, 512, cell="rnn")
count = sum(weight.numel() for weight in big.parameters())
print(f"with torch's nn.RNN: {count:,}, that is {count - 325_181} more")
assert count == 325_181 + 512

# %% [markdown]
# Hidden size 512 it was. torch's layer has 512 more: it keeps two biases, one beside
# each matrix, where one would do. $W_h$ holds most of the weights (262,144): it decides
# what is carried on from step to step.

# %% [markdown]
# The source trains on 94,081 characters with batches of 128 rows of 100, 7 of them per
# pass, 300 passes, and reports 1 minute 23 seconds. How long would that take here? One
# step:

# %%
x = torch.randint(V, (128, 100))
start = time.perf_counter()
F.cross_entropy(big(x)[0].flatten(0, 1), x.flatten()).backward()
seconds = time.perf_counter() - start
print(f"{seconds:.2f} s, so {300 * 7 * seconds / 60:.0f} minutes for 2,100 steps")

# %% [markdown] slide="slide"
# ## Find the bug: three messages, one missing word
#
# The state goes from batch to batch. So does its **history**: the graph that backward
# walks. Here is the source's training loop in small, in three versions. Read the
# messages before you go on.


# %% locked=true
def three_batches(keep_graph: bool, bare_logits: bool = False) -> str:
    """Train on three batches, the state carried on; what happens?"""
    torch.manual_seed(0)
    W, state = nn.Linear(4, 4), torch.zeros(1, 4)
    sgd = torch.optim.SGD(W.parameters(), lr=0.1)
    for number in range(3):
        try:
            for _ in range(5):
                state = torch.tanh(W(state) + 1)
            logits = torch.tensor(state.tolist()) if bare_logits else state
            loss = logits.square().sum()
            sgd.zero_grad()
            loss.backward(retain_graph=keep_graph)
            sgd.step()
        except RuntimeError as error:
            return f"batch {number + 1}: {type(error).__name__}: {error}"
    return "no error"


# %% tags=["nbval-check-output"]
versions = {
    "as it is": three_batches(keep_graph=False),
    "with retain_graph=True": three_batches(keep_graph=True),
    "with bare numbers for logits": three_batches(keep_graph=False, bare_logits=True),
}
for name, message in versions.items():
    print(textwrap.fill(f"{name}: {message}", 88), "\n")

# %% [markdown]
# The first message *suggests* `retain_graph=True`. The source followed it. The second
# one says why that is no cure: backward walks into batch 1 again, whose weights the
# optimizer has changed meanwhile. The published program can't get past its second batch
# (torch 2.13). The third version cuts the history, but in the wrong place.

# %% [markdown]
# And without the optimizer there is no message at all, only a graph that grows with
# each batch. Count its nodes:


# %% tags=["nbval-check-output"]
def nodes_behind(tensor: Tensor) -> int:
    """How many operations backward would walk through."""
    seen, todo = set(), [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [before for before, _ in node.next_functions]
    return len(seen)


W, state = nn.Linear(4, 4), torch.zeros(1, 4)
for number in range(1, 5):
    for _ in range(5):
        state = torch.tanh(W(state) + 1)
    print(f"after batch {number}: {nodes_behind(state)} nodes")

# %% [markdown] exercise="7.F" slide="subslide"
# What has to happen to the state between two batches? It must keep its numbers, and
# lose its history. Backpropagation then ends at the batch's border: this is called
# *truncated backpropagation through time*.


# %% exercise="7.F"
def carried(state: Tensor) -> Tensor:
    """The state as the next batch should get it.

    Args:
        state: (B, N), as it came out of a batch

    Returns:
        (B, N), the same numbers
    """
    ### BEGIN SOLUTION
    return state.detach()
    ### END SOLUTION


# %%
check("7.F", carried)

# %% [markdown] slide="skip"
# <details><summary>Hint: a pointer</summary>
#
# Lesson 06 turned a loss into a bare number. Here the tensor should stay a tensor, but
# come from nowhere. A method of tensors does that.
# </details>

# %%
leaf = torch.ones(1, 2, requires_grad=True)
new = carried(leaf * 2)
print(new, "history:", new.grad_fn)

# %% [markdown]
# A trap nearby: cutting off does not copy. The tensor from the course's answer
# **shares its memory** with the old one, and whoever writes into one in place changes
# both. (A `.clone()` has memory of its own.) A second name is no copy, either.

# %% tags=["nbval-check-output"]
first = torch.zeros(2)
kept = [first, recurrent.detached(first), first.clone()]
first += 1
print([one.tolist() for one in kept])

# %% [markdown] exercise="7.G" slide="subslide"
# The same model reads *a fox met* three times and prints the chances that it gives to
# *a*, *e* and *t*. Once as it comes out of training, once after `.eval()`. Which of the
# two, `"A"` or `"B"`, has its **dropout active**?
#
#     A  [0.1365 0.1309 0.1307]      B  [0.1453 0.1242 0.1331]
#     A  [0.1365 0.1309 0.1307]      B  [0.1499 0.1205 0.1361]
#     A  [0.1365 0.1309 0.1307]      B  [0.1491 0.1345 0.1249]

# %% exercise="7.G"
### BEGIN SOLUTION
with_dropout = "B"  # it differs from reading to reading
### END SOLUTION

# %%
check("7.G", with_dropout)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# Dropout draws anew, in every call, which units it sets to 0. What does that do to
# three readings of the same text?
# </details>

# %% [markdown]
# The program that printed it:

# %% tags=["nbval-check-output"]
_ = torch.manual_seed(0)
letters = characters.Characters(" aefmotx")
wobbly = recurrent.CharacterModel(len(letters), 32, "rnn", dropout=0.5)
for name, training in (("A", False), ("B", True)):
    wobbly.train(mode=training)
    for _ in range(3):
        logits, _ = wobbly(letters.encode("a fox met")[None])
        show(name, logits[0, -1].softmax(-1)[letters.encode("aet")])

# %% [markdown]
# The source never switches to evaluation before it samples. At each step the last layer
# gets only half of the state, another half each time. What that costs, you will measure
# on a trained model below.

# %% [markdown] exercise="7.H" slide="subslide"
# A third bug. The formula in the source is $\hat y = \mathrm{softmax}(W_y h + b_y)$,
# and `F.cross_entropy` has a softmax inside. Someone writes both. Training runs, but
# for 61 characters the loss stops near 3.14. Compute the **lowest** loss that this
# program can reach, to **three decimals**.

# %% exercise="7.H"
### BEGIN SOLUTION
lowest_loss = math.log(1 + 60 / math.e)  # the best logits are 1, 0, 0, ... 0
### END SOLUTION

# %%
check("7.H", lowest_loss)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# What goes into the loss as "logits" is a row of probabilities. Which row is the best
# one imaginable?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The loss is minus the logarithm of the softmax at the right place. Write that softmax
# with one 1 and sixty 0s.
# </details>

# %% [markdown]
# A perfect prediction, softmaxed once too often, for three sizes of the vocabulary:

# %% tags=["nbval-check-output"]
for size in (2, 5, 61):
    perfect = F.one_hot(torch.tensor([0]), size).float()  # (1, V), probabilities
    show(f"V = {size}", F.cross_entropy(perfect, torch.tensor([0])), digits=3)

# %% [markdown] slide="slide"
# ## Train through time
#
# The step of lesson 06 with two additions: the state is carried from batch to batch,
# and the gradient is **clipped**. Backward through T steps multiplies T matrices; now
# and then the product is huge, and one step would ruin the weights.

# %% tags=["nbval-check-output"]
gradient = torch.tensor([3.0, 4.0])  # of length 5
for clip in (10.0, 1.0):
    factor = min(1.0, clip / gradient.norm().item())
    show(f"clip {clip:4.1f}", gradient * factor)

# %% [markdown]
# Clipping by norm shortens the arrow and keeps its direction. All parameters together
# make one long arrow.

# %% [markdown] exercise="7.J"
# Write one pass over the batches. It begins with no state. Return the **mean** loss,
# not the last one (the source prints the last, which jumps about).


# %% exercise="7.J"
def train_epoch(model, batches, optimizer, clip: float) -> float:
    """Learn from every batch once.

    Args:
        model: takes ids (B, T) and a state or None; returns logits (B, T, V) and the
            state (B, N). It may come in evaluation mode; train it in training mode
        batches: pairs of input (B, T) and target (B, T), rows that go on
        optimizer: holds the model's parameters
        clip: the longest gradient; a longer one is shortened to this norm

    Returns:
        The mean of the batches' losses.
    """
    ### BEGIN SOLUTION
    #: losses = []  # one for each batch
    model.train()
    state, losses = None, []
    for x, y in batches:
        logits, state = model(x, state)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        state = state.detach()
        losses.append(loss.item())
    return sum(losses) / len(losses)
    ### END SOLUTION


# %%
check("7.J", train_epoch)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which five calls did a step have in lesson 06? Between which two does the clipping
# belong?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `nn.utils.clip_grad_norm_` takes all parameters at once. `F.cross_entropy` wants the
# vocabulary on axis 1, or all places in one axis.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# training mode; no state yet; for each batch: logits and state, loss, clear, backward,
# clip, step, cut the state off, note the loss; return the mean.
# </details>

# %% [markdown]
# Put your parts together. `take` uses yours where the check passes, else the course's.
# Two passes over all sonnets, hidden size 64:

# %%
mine = OwnParts()
mine.take("7.C", batches)
mine.take("7.E", RNN)
mine.take("7.J", train_epoch)

# %%
_ = torch.manual_seed(7)
first_rnn = mine.RNN(V, 64)
optimizer = torch.optim.Adam(first_rnn.parameters(), lr=0.01)
pieces = mine.batches(alphabet.encode(train_text), 32, 64)
for number in range(2):
    nats = mine.train_epoch(first_rnn, pieces, optimizer, clip=5.0)
    print(f"pass {number + 1}: {nats / math.log(2):.2f} bits per character")
assert nats / math.log(2) < 3.8

# %% [markdown]
# The loss is in nats, so we divide by ln 2. Knowing nothing costs log2(61) = 5.93 bits.
# After two passes the loss is already below what letter frequencies alone give (4.46
# bits, the first line of the table at the top).

# %% [markdown] slide="slide"
# ## Write: temperature and top-k
#
# From logits to a character: divide by a **temperature**, keep the **k** likeliest,
# softmax, draw. Temperature below 1 makes the likely likelier; above 1 all gets more
# equal.

# %% tags=["nbval-check-output"]
logits = torch.tensor([[2.0, 1.0, 0.0, -1.0]])  # (B=1, V=4)
for temperature in (0.5, 1.0, 2.0):
    show(f"temperature {temperature}", (logits / temperature).softmax(-1))

# %% [markdown] exercise="7.K"
# Write `chances`. The k best are kept **in each row**; the others get exactly 0,
# wherever the logits lie, and the kept ones share out 1. k = 1 must work.


# %% exercise="7.K"
def chances(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None
) -> Tensor:
    """From logits to chances.

    Args:
        logits: (B, V), of any size: all of them may be near -200
        temperature: above 0
        top_k: how many to keep in each row, from 1 to V; None keeps all

    Returns:
        (B, V), each row adds up to 1
    """
    ### BEGIN SOLUTION
    if top_k is not None:
        smallest_kept = logits.topk(top_k, dim=-1).values[:, -1:]  # (B, 1)
        logits = logits.masked_fill(logits < smallest_kept, float("-inf"))
    return F.softmax(logits / temperature, dim=-1)
    ### END SOLUTION


# %%
check("7.K", chances)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which logit becomes a chance of 0 (lesson 06)? What is the smallest logit that you
# keep in a row?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `topk` returns the k largest along an axis, in order. Keep the axis, so that each row
# is compared with its own threshold.
# </details>

# %%
show("k = 2", chances(torch.tensor([[2.0, 1.0, 0.0, -1.0]]), top_k=2))

# %% [markdown]
# The source's top-k fails for k = 1: it squeezes away *all* axes of length 1, and a
# choice from a bare number is none. It also draws with numpy, so torch's seed has no
# say in it. One generator for all, and no blind `squeeze`. (Another one, in its
# `forward`, does nothing, until somebody tries a hidden size of 1.)

# %% locked=true tags=["nbval-check-output"]
best = torch.tensor([[0.3, 0.9, 0.1]]).topk(1)
p, index = best.values.numpy().squeeze(), best.indices.numpy().squeeze()
try:
    len(p)
except TypeError as error:
    print(f"{type(error).__name__}: {error}; shapes {p.shape} and {index.shape}")

# %% [markdown] exercise="7.L"
# Now write text. Read the whole beginning, then draw, and feed each new character with
# the state so far: what was read is not read again. Dropout must be off. Use your
# `chances`, or `character_models.chances` from the course, and `torch.multinomial`.


# %% exercise="7.L"
def sample(
    model,
    ids: Tensor,
    length: int,
    temperature: float = 1.0,
    top_k: int | None = None,
) -> Tensor:
    """Read a beginning and write on.

    Args:
        model: takes ids (B, T) and a state or None; returns logits (B, T, V), state
        ids: (B, T), the beginning
        length: how many characters to write
        temperature: see `chances`
        top_k: see `chances`

    Returns:
        (B, T + length): the beginning and what was written
    """
    ### BEGIN SOLUTION
    #: state = None  # nothing is read yet
    model.eval()
    read, state = ids, None
    with torch.inference_mode():
        for _ in range(length):
            logits, state = model(read, state)
            p = character_models.chances(logits[:, -1], temperature, top_k)  # (B, V)
            read = torch.multinomial(p, 1)  # (B, 1)
            ids = torch.cat([ids, read], dim=1)
    return ids
    ### END SOLUTION


# %%
check("7.L", sample)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# The state knows all that was read. What does the model have to read in the second
# step, and what in the first?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The model returns logits for *every* place. Which of them stand behind the last
# character?
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# evaluation mode; read the beginning; repeat: chances from the last logits, draw one,
# append it, read it with the state.
# </details>

# %%
start = alphabet.encode("The ")[None]
_ = torch.manual_seed(0)
print(alphabet.decode(sample(first_rnn, start, 120, temperature=0.7)[0]))

# %% [markdown]
# After two passes it spells like someone talking in their sleep. Better networks
# follow.

# %% [markdown] slide="slide"
# ## A door for the memory
#
# A plain RNN rewrites its whole state at each step. A **gate** is a small layer with a
# sigmoid, *multiplied* onto another signal: 1 lets it pass, 0 stops it, and the network
# learns when. By hand: keep a number until it is needed.

# %% tags=["nbval-check-output"]
reads = [0.9, -0.4, 0.7, 0.2]
write, keep = [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]
cell = 0.0
for value, i, f in zip(reads, write, keep, strict=True):
    cell = f * cell + i * value
    print(f"read {value:4.1f}: write {i:.0f}, keep {f:.0f} → cell {cell:.1f}")

# %% [markdown]
# 0.9 survives two steps untouched; a tanh at each step would have worn it down. Gates
# and attention "are all just activation functions", says the source. No: the sigmoid
# alone is one. A gate is a learned layer, and what it does is **multiply**. (Attention
# is neither: it is a weighted mean whose weights hang on the data.)

# %% [markdown] slide="slide"
# ## LSTM: a cell and three gates
#
# $$i, f, o = \sigma(\cdot) \qquad g = \tanh(\cdot) \qquad c' = f \odot c + i \odot g
# \qquad h' = o \odot \tanh(c')$$
#
# Each dot is $W_x x + W_h h + b$, with rows of its own. The cell $c$ remembers, $h$ is
# what it shows. Input gate *i*, forget gate *f*, candidate *g*, output gate *o*.

# %% [markdown] exercise="7.M"
# Write the step. All four blocks lie below each other in one matrix, in torch's order:
# **i, f, g, o**, N rows each.


# %% exercise="7.M"
def lstm_step(
    x: Tensor, h: Tensor, c: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor
) -> tuple[Tensor, Tensor]:
    """Read one input per row.

    Args:
        x: (B, D)
        h: (B, N), what was shown before
        c: (B, N), the cell before
        W_x: (4 N, D), blocks i, f, g, o
        W_h: (4 N, N), likewise
        b: (4 N,), likewise

    Returns:
        h' and c', (B, N) each
    """
    ### BEGIN SOLUTION
    #: total = ...  # (B, 4 N)
    total = x @ W_x.T + h @ W_h.T + b
    i, f, g, o = total.chunk(4, dim=1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    h = torch.sigmoid(o) * torch.tanh(c)
    return h, c
    ### END SOLUTION


# %%
check("7.M", lstm_step)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# One sum gives all four blocks, (B, 4 N). How do you split it into four?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `chunk` cuts an axis into equal parts. Three of them go through one function, one
# through another.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# sum; four parts; bend each; new cell from what is kept and what is written; new h from
# the new cell.
# </details>

# %%
torch_cell = nn.LSTMCell(3, 5)
x, h, c = torch.randn(2, 3), torch.randn(2, 5), torch.randn(2, 5)
bias = torch_cell.bias_ih + torch_cell.bias_hh
yours = lstm_step(x, h, c, torch_cell.weight_ih, torch_cell.weight_hh, bias)
for one, other in zip(yours, torch_cell(x, (h, c)), strict=True):
    print("equal to nn.LSTMCell:", torch.allclose(one, other, atol=1e-6))

# %% [markdown]
# Why it helps: the way from $c$ to $c'$ is a multiplication by *f*, with no matrix and
# no tanh in it. Where f is close to 1, the cell and its gradient pass unchanged.

# %% [markdown] slide="slide"
# ## GRU: two gates and no cell
#
# $$r, z = \sigma(\cdot) \qquad n = \tanh(W_x x + b_x + r \odot (W_h h + b_h)) \qquad
# h' = (1 - z) \odot n + z \odot h$$
#
# One gate *z* decides between old and new. The reset gate *r* hides the past from the
# candidate *n*.

# %% [markdown]
# Papers disagree. The GRU of 2014, as published, resets **before** the matrix:
# $W_h (r \odot h)$. Others turn the update gate around as well: there z = 1 writes
# (Chung et al. 2014). All of it works, when trained that way. We follow torch (and its
# weights): reset **after** the matrix, z = 1 keeps.

# %% [markdown] exercise="7.N"
# Write the step, with torch's order of the blocks: **r, z, n**. Both biases are needed,
# as *r* is multiplied onto one of them.


# %% exercise="7.N"
def gru_step(
    x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor, b_x: Tensor, b_h: Tensor
) -> Tensor:
    """Read one input per row.

    Args:
        x: (B, D)
        h: (B, N), the states before
        W_x: (3 N, D), blocks r, z, n
        W_h: (3 N, N), likewise
        b_x: (3 N,), beside W_x
        b_h: (3 N,), beside W_h

    Returns:
        The new states, (B, N).
    """
    ### BEGIN SOLUTION
    #: read = ...  # (B, 3 N)
    #: past = ...  # (B, 3 N)
    read, past = x @ W_x.T + b_x, h @ W_h.T + b_h
    x_r, x_z, x_n = read.chunk(3, dim=1)
    h_r, h_z, h_n = past.chunk(3, dim=1)
    r, z = torch.sigmoid(x_r + h_r), torch.sigmoid(x_z + h_z)
    n = torch.tanh(x_n + r * h_n)
    return (1 - z) * n + z * h
    ### END SOLUTION


# %%
check("7.N", gru_step)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# For the LSTM one sum was enough. Why must the part of the input and the part of the
# past stay apart here?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Two sums of 3 N columns, each cut into three. Two of the blocks are simply added.
# </details>

# %%
torch_cell, x, h = nn.GRUCell(3, 5), torch.randn(2, 3), torch.randn(2, 5)
yours = gru_step(
    x, h, torch_cell.weight_ih, torch_cell.weight_hh, torch_cell.bias_ih,
    torch_cell.bias_hh,
)  # fmt: skip
print("equal to nn.GRUCell:", torch.allclose(yours, torch_cell(x, h), atol=1e-6))

# %% [markdown] slide="slide"
# ## See it on something real: three networks, one text
#
# RNN, LSTM and GRU, 128 hidden units each, on the sonnets: the same 1,000 steps, the
# same batches, rate and dropout (0.2). torch's own layers do the work: same formulas,
# compiled code.

# %% tags=["characters"]
seed, where = 7, device()
train_ids, held_out_ids = alphabet.encode(train_text), alphabet.encode(held_out_text)
options = dict(batch_size=16, length=64, rate=0.01, held_out=held_out_ids, every=200)

# %% tags=["characters"]
models, histories = {}, {}
for cell in ("rnn", "lstm", "gru"):
    torch.manual_seed(seed)
    models[cell] = recurrent.CharacterModel(len(alphabet), 128, cell, 0.2).to(where)
    histories[cell] = character_models.train_on_characters(
        models[cell], train_ids, 1000, name=cell, **options
    )

# %% tags=["characters"]
bits = {cell: history.bits[-1] for cell, history in histories.items()}
for cell, model in models.items():
    size = sum(weight.numel() for weight in model.parameters())
    seconds = histories[cell].seconds
    print(f"{cell:4}: {size:7,} weights, {seconds:3.0f} s, {bits[cell]:.2f} bits")
assert bits["lstm"] < bits["rnn"] and bits["gru"] < bits["rnn"]

# %%
levels = {f"table, {n} characters": by_counting[n] for n in (2, 3)}
show_figure(
    draw.learning_curves(histories, levels),
    "Bits per held-out character of three networks, against steps and against seconds. "
    "The RNN ends near the best table of counts, LSTM and GRU clearly lower. The RNN "
    "takes the fewest seconds.",
)
assert max(bits["lstm"], bits["gru"]) < min(by_counting.values())

# %% [markdown]
# For the same **steps**, the gated networks win. A step of theirs costs more, so look
# at the **time** as well, on the right. And look at the dotted lines: in our runs the
# plain RNN ends about where a table of three characters stands. LSTM and GRU know more
# than any of our tables.

# %% [markdown]
# Honest limits: one setting, one small text. The same hidden size is not the same
# number of weights, and the rate falls to 0 over just these steps. One good run may be
# luck. So the maintainers have a command, `python -m tools.experiments characters`,
# that repeats it with other seeds; `longer_rnn` in its place gives the RNN three times
# the steps.

# %% [markdown] slide="subslide"
# Now let them write. The same beginning, the same temperature:

# %%
for cell, model in models.items():
    draws = torch.Generator().manual_seed(3)
    written = character_models.sample(
        model, alphabet, "The river ", 160, temperature=0.7, generator=draws
    )
    print(f"--- {cell}\n{written}\n")

# %% [markdown]
# Lines, capitals, commas, many real words, little sense. Count the real words,
# 3,000 characters of each, and at the same time see what exercise 7.G costs: the bits
# on held-out text with dropout left on.


# %%
def known_words(text: str) -> float:
    """The share of words that occur in the training text."""
    known = set(words_of(train_text))
    found = words_of(text)[1:-1]  # the first and the last may be cut
    return sum(word in known for word in found) / len(found)


def words_of(text: str) -> list[str]:
    """Lower-case words, without punctuation."""
    return "".join(c.lower() if c.isalpha() else " " for c in text).split()


# %%
real_words = {}
for cell, model in models.items():
    draws = torch.Generator().manual_seed(4)
    written = character_models.sample(
        model, alphabet, "\n", 3000, temperature=0.7, generator=draws
    )
    real_words[cell] = known_words(written)
    print(f"{cell:4}: {real_words[cell]:.0%} of the words are known")


# %%
def bits_in_training_mode(model) -> float:
    """Bits per held-out character with dropout active: the missing line."""
    x, y = held_out_ids[:-1].to(where), held_out_ids[1:].to(where)
    with torch.no_grad():
        logits, _ = model.train(mode=True)(x[None])
    return F.cross_entropy(logits[0], y).item() / math.log(2)


for cell, model in models.items():
    wrong = bits_in_training_mode(model)
    print(f"{cell:4}: {bits[cell]:.2f} bits, with dropout left on {wrong:.2f}")
    assert wrong > bits[cell]

# %% [markdown] slide="slide"
# ## How long does it remember?
#
# How much does $h_t$ change when $h_0$ is nudged? The answer is a matrix of
# derivatives, $\partial h_t / \partial h_0$. By the chain rule it is a product of t
# matrices, one per step. If they shrink, the past fades; then also the gradient of what
# should be learned from it: it **vanishes**.

# %% [markdown]
# By hand, for the AR(1) and one unit with a tanh: the derivative of a step is 0.5, and
# 0.5 times the slope of the tanh.

# %% tags=["nbval-check-output"]
h, product = 0.0, 1.0
for step, now in enumerate([1.0, 0.5, 0.5, 0.5], start=1):
    h = math.tanh(0.5 * h + now)
    product *= 0.5 * (1 - h**2)
    print(f"after {step} steps: AR(1) {0.5**step:.4f}, with tanh {product:.4f}")

# %% [markdown] exercise="7.P"
# Write it for any cell: for each t, the norm of $\partial h_t / \partial h_0$, the root
# of the sum of all squared entries. `torch.autograd.functional.jacobian(f, h)` gives
# the matrix of one function at one place.


# %% exercise="7.P"
def influence(step, inputs: Tensor, h: Tensor) -> Tensor:
    """How strongly each later state hangs on the first.

    Args:
        step: takes an input (D,) and a state (N,), returns the next state (N,)
        inputs: (T, D)
        h: (N,), the first state

    Returns:
        (T,) of any float dtype, the norm of dh_t / dh_0 for t = 1 to T
    """
    ### BEGIN SOLUTION
    #: norms = []
    norms, product = [], torch.eye(len(h), dtype=h.dtype)
    for x in inputs:
        one_step = torch.autograd.functional.jacobian(
            lambda past, x=x: step(x, past), h
        )
        product = one_step @ product
        h = step(x, h)
        norms.append(product.norm())
    return torch.stack(norms)
    ### END SOLUTION


# %%
check("7.P", influence)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# $h_2 = s(x_2, s(x_1, h_0))$. Which two matrices does the chain rule multiply, each
# taken at which state, and in which order?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Begin with the identity: before any step, $h_0$ hangs on itself. Each step multiplies
# one matrix on.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# product = identity; for each input: matrix of this step at this state; multiply it on;
# go one step; note the norm.
# </details>

# %%
draws = torch.Generator().manual_seed(1)
W = torch.randn(6, 6, generator=draws) / 6**0.5
inputs = torch.zeros(5, 6)
show("a random RNN", influence(lambda x, h: torch.tanh(W @ h + x), inputs, W[0]))

# %% [markdown]
# And on the trained networks: 16 places in held-out sonnets, up to 60 characters ahead.
# The norms are divided by that of the identity, so that 1 means "all is still there".
# For the LSTM there are two questions: how does $h_t$ hang on $h_0$, and how on the
# cell $c_0$?

# %%
places = range(0, 16 * 500, 500)
windows = torch.stack([held_out_ids[n : n + 100] for n in places])  # (16, 100)
faded = {
    cell: recurrent.influence(model, windows.to(where), warm_up=40)
    for cell, model in models.items()
}
typical = {
    (cell, part): norms.log().mean(0).exp().cpu()  # (T,), geometric mean
    for cell, found in faded.items()
    for part, norms in found.items()
}

# %%
for (cell, part), norms in typical.items():
    at = ", ".join(f"{norms[t - 1]:.1e} ({t})" for t in (1, 5, 10, 20, 50))
    print(f"{cell:4} by {part}_0: {at}")
assert typical["rnn", "h"][49] < 0.1 * typical["lstm", "c"][49]
assert typical["rnn", "h"][49] < 0.1 * typical["gru", "h"][49]

# %%
curves = {}
for (cell, part), norms in typical.items():
    style = {**draw.CELL_STYLES[cell], "marker": "" if part == "h" else "."}
    curves[f"{cell.upper()}, by ${part}_0$"] = (norms, style)
show_figure(
    draw.influences(curves),
    "Influence of the first state on later ones, on a log scale, against the distance "
    "in characters, for RNN, LSTM and GRU.",
)

# %% [markdown]
# On a log scale the RNN's line is straight: each step takes the same share, and after
# 20 characters hardly anything is left. The gated networks fade, too, but slowly: over
# 50 characters, about a line of a sonnet, they keep orders of magnitude more.

# %% [markdown]
# A common belief: the state fades because the eigenvalues of $W_h$ are below 1. Look:

# %%
W_h = models["rnn"].recurrent.weight_hh_l0.detach().cpu()
largest = torch.linalg.eigvals(W_h).abs().max()
print(f"largest eigenvalue of the RNN's W_h, in size: {largest:.2f}")
assert largest > 1

# %% [markdown]
# Above 1. What shrinks the product are the slopes of the tanh: units near −1 or 1 let
# almost nothing through (exercise 7.A). Both factors count, so measure the product.

# %% [markdown] exercise="7.Q" slide="subslide"
# The source shows an unreadable sample ("Hew, and serelt ...") and says: not readable
# *because of* the vanishing gradient. You have numbers now: the influence, the bits,
# dropout left on, the table of counts, the size of the text. **How much of the claim do
# they carry**, and which experiment would settle it? Write six to eight sentences.

# %% [markdown] answer="7.Q"
# ### BEGIN SOLUTION
# **Model answer.** The effect is real: in our trained RNN the influence of a state on
# later ones falls by orders of magnitude within some dozens of characters. So nothing
# that lies further back can be used, or learned from. But a word is five or six
# characters long, and at that distance the influence is still there. The fading
# explains why a sample has no rhyme and no thread; it does not explain misspelt words.
# Nearer causes are known for the source's sample: dropout was active while it was
# written, which costs bits here, too, and 94,000 characters are little to learn a
# language from. The LSTM, whose cell keeps more, has fewer bits, but its sample still
# makes little sense. So the fading can't be the only cause. To settle it I would change
# one thing at a time: the same model with dropout off, the same model on ten times the
# text, and an LSTM with as many weights, and compare bits and known words over several
# seeds.
#
# **Rubric (3 points).** 1: reads the influence as a distance and relates it to the
# length of words or lines. 1: names a nearer cause with a number from this lesson
# (dropout, amount of text, training). 1: proposes an experiment that changes one thing.
# ### END SOLUTION

# %% [markdown] slide="slide"
# ## Your own LSTM reads the sonnets
#
# The trained LSTM is only weights. Put them into *your* step, read a held-out line
# character by character, and compare the logits with torch's.

# %%
mine.take("7.M", lstm_step)

# %%
lstm = models["lstm"].cpu().eval()
layer, h, c = lstm.recurrent, torch.zeros(1, 128), torch.zeros(1, 128)
weights = (layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0 + layer.bias_hh_l0)
ids = held_out_ids[:200]
with torch.no_grad():
    said = []
    for x in F.one_hot(ids, V).float():
        h, c = mine.lstm_step(x[None], h, c, *weights)
        said.append(lstm.output(h))
    apart = (torch.cat(said) - lstm(ids[None])[0][0]).abs().max()
print("the same logits:", bool(apart < 1e-3))
assert apart < 1e-3

# %% [markdown] slide="slide"
# ## What the Transformer changes
#
# An RNN must go step by step: $h_{100}$ waits for $h_{99}$. Attention compares all
# places at once, in a few large multiplications. And between any two places lies
# **one** step, not their distance. The price: scores for every pair.

# %% tags=["nbval-check-output"]
print(" length | RNN: steps, longest path | attention: steps, path, scores")
for length in (10, 100, 1000):
    print(f"{length:7} | {length:6} {length - 1:10} | {1:6} {1:6} {length**2:10,}")

# %% [markdown]
# (Per layer and head, and for learning. When it *writes*, a Transformer goes step by
# step, too.) Short paths at the price of n² scores: lesson 02 measured when that price
# bites.

# %% [markdown] slide="subslide"
# | year | step on the way | here |
# |---|---|---|
# | 1927, 1951 | autoregression; ARMA | above |
# | 1990 | simple RNN | 7.D |
# | 1997, 2000 | LSTM, and its forget gate | 7.M |
# | 2014 | GRU; encoder-decoder of two RNNs; attention on top | 7.N, lesson 08 |
# | 2017 | attention alone: the Transformer | lessons 02 to 06 |
# | 2019 | a decoder on much text: GPT-2 | lessons 10, 11 |

# %% [markdown]
# The source of this lesson, a blog post titled "Attention is all you need, part 1", set
# out to walk this road to a GPT-2 and ends after the simple RNN. You walk on:
# translation with two RNNs in lesson 08, and in lesson 10 a GPT against this LSTM, on
# the same text.

# %% [markdown] slide="slide"
# ## What you can now do
#
# - Write RNN, LSTM and GRU, equal to torch's on the same weights.
# - Lay a text out in batches that go on, and train through time, cut and clipped.
# - Sample with temperature and top-k, with the dropout off.
# - Say in bits what a memory is worth, and in norms how far it reaches.
#
# **Try it.** Another text: `load_text("my_book.txt")`. Other settings: hidden size,
# length T, rate, dropout 0. Which network profits most?

# %% [markdown] slide="skip"
# **References.** Elman 1990, *Finding Structure in Time*. Hochreiter and Schmidhuber
# 1997, *Long Short-Term Memory*; Gers et al. 2000, for the forget gate. Cho et al. 2014
# (arXiv 1406.1078) and Chung et al. 2014 (arXiv 1412.3555), for the GRU. Bengio et al.
# 1994 and Pascanu et al. 2013 (arXiv 1211.5063), for vanishing and exploding gradients.
# Karpathy 2015, *The Unreasonable Effectiveness of Recurrent Neural Networks*. Vaswani
# et al. 2017 (arXiv 1706.03762), table 1, for path lengths.
