# %% [markdown] slide="slide"
# # 07 Recurrent networks: what the Transformer had to beat
#
# **How does a network remember what it has read, and for how long?**
#
# You need: the training loop of lesson 06 and, near the end, attention (lesson 02).
# Time: {minutes}. Run in one go, the notebook takes {run time} on one core, most of it
# for four trainings.

# %% [markdown] slide="notes"
# **1 minute.** Say: so far every word could look at every other. Today we go back to
# the networks that could not, and that had to remember instead.
#
# Ask: who has heard of an LSTM, and what do the letters mean?
#
# Expect: "long short-term memory", and then a pause. By the end they have written one.

# %% [markdown] slide="slide"
# ## Reading through a keyhole
#
# > The animal did not cross the street because **it** was too tired.
#
# Suppose you may read this sentence only through a keyhole, letter by letter, and never
# go back. All that you have besides is a postcard for your notes.

# %% [markdown] slide="notes"
# **2 minutes.** Say: after every letter you may rewrite the card, but it does not grow.
#
# Ask: you arrive at *it*. What has to stand on your card by then?
#
# Expect: "the animal", "the whole sentence". Ask how they knew at *animal* that they
# would need it.
#
# Say: a Transformer looks back. These networks have only the card.

# %% [markdown] slide="skip"
# When you arrive at *it*, the animal had better be on your card, and you have to have
# written it down 40 letters ago, before you knew what for. A Transformer does not have
# this problem, because at *it* it simply looks back. A **recurrent network** has it. It
# keeps a vector of fixed size, its **hidden state**, which it computes at every step
# from what it reads and from the state before. Of all that it has read, nothing else is
# left.
#
# Here is one at work, an LSTM, which you will have written before this lesson is over.
# Its postcard has room for two vectors of 128 numbers. It reads 144 sonnets, character
# by character, and guesses each time which one comes next. Every 200 steps of training
# it stops and writes 60 characters of its own. What will it learn first: letters that
# go together, the lengths of words, the ends of lines, or what the poems are about?
# Write down your guess and run the cells. They take about half a minute, and you can
# read on meanwhile. (`alphabet.encode` turns each character into its place in the
# alphabet, and `alphabet.decode` turns the places back into text.)

# %%
import copy
import math
import textwrap
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
from helpers.figures.play import play
from helpers.models import recurrent
from helpers.student.own_parts import OwnParts
from helpers.text import characters
from helpers.text.count_table import CountTable

_ = torch.manual_seed(7)

# %% tags=["nbval-check-output", "characters"] slide="skip"
text = load_text()
train_text, held_out_text = split_text(text)  # every tenth sonnet is held out
alphabet = characters.Characters.of(text)
print(f"{len(text):,} characters, {len(alphabet)} different ones")
print(f"{len(train_text):,} to learn from, {len(held_out_text):,} held out")
print(f"knowing nothing: log2({len(alphabet)}) = {math.log2(len(alphabet)):.2f} bits")

seed, where = 7, device()
train_ids, held_out_ids = alphabet.encode(train_text), alphabet.encode(held_out_text)
options = dict(batch_size=16, length=64, rate=0.01, held_out=held_out_ids, every=200)


def write(model: nn.Module, history: character_models.CharacterHistory) -> None:
    """Print how good a model is by now, and what it writes."""
    draws = torch.Generator().manual_seed(3)
    said = character_models.sample(
        model, alphabet, "The ", 60, temperature=0.7, generator=draws
    )
    print(f"step {history.steps[-1]:4}, {history.bits[-1]:.2f} bits: {said!r}")


def learn(cell: str) -> tuple[nn.Module, character_models.CharacterHistory]:
    """Train a network with 128 hidden units for 1,000 steps."""
    torch.manual_seed(seed)
    model = recurrent.CharacterModel(len(alphabet), 128, cell, 0.2).to(where)
    return model, character_models.train_on_characters(
        model, train_ids, 1000, name=cell, after=write, **options
    )


# %% tags=["characters"] slide="subslide"
models, histories = {}, {}
models["lstm"], histories["lstm"] = learn("lstm")

# %% [markdown] slide="notes"
# **2 minutes.** Say: start it now, and let it write while you talk.
#
# Ask: what will it learn first: letters, words, lines, or sense?
#
# Expect: "words". Letters that go together come first, then spaces at the right
# distance; sense does not come at all.
#
# Say: read each line aloud as it appears; `\n` is the end of a line. The bits are the
# measure of today.

# %% [markdown] slide="skip"
# At the end of this lesson you can
#
# - write an RNN and an LSTM from their formulas, and train one on a text;
# - carry a state from batch to batch, and leave its history behind;
# - compare a network with an honest rival, in bits per character;
# - say how far back a network remembers, and argue about it with numbers.

# %% [markdown] slide="slide"
# ## The rival: a table of counts
#
# The samples get better, and none of them makes sense. How good is that? We measure
# **bits per character**: the mean of $-\log_2 p(\text{next})$ on text that was never
# seen. Somebody who knows nothing but the 61 characters needs 5.93.

# %% [markdown] slide="notes"
# **2 minutes.** Say: a bit is one halving. Two bits fewer: four times as sure.
#
# Ask, before you press: a table of what came next, for every context of so many
# characters. With how many is it best?
#
# Expect: "the more the better". It is best with three, and then gets worse.
#
# Say: look at the rows. Almost none of the long contexts was ever seen.

# %% [markdown] slide="skip"
# (Bits are the logarithm, to base 2, of the **perplexity** that other texts report.) A
# number alone is neither good nor bad, so we need a rival, and the simplest way to
# guess the next character is to count. For every piece of `context` characters we count
# what came after it in the training text. A character that never came there would get
# the probability 0 and cost infinitely many bits, so every count gets 0.05 on top. With
# how many characters of context should such a table be best? Guess, then run it.


# %% slide="skip"
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


# %% tags=["nbval-check-output"] slide="fragment"
by_counting = {}
for context in range(6):
    by_counting[context], rows = table_bits(context)
    possible = len(alphabet) ** context
    print(f"{context} characters: {by_counting[context]:.2f} bits, ", end="")
    print(f"{rows:,} of {possible:,} rows seen")

# %% [markdown] slide="subslide"
# Memory helps, and then the table gets worse, because most of its rows were never seen.
# But a row that is missing is no reason to give up: a shorter context was seen more
# often, so ask that one. Every context mixes what it counted with what the context that
# is one character shorter says, $p'$:
#
# $$p = \frac{n\,p_{\text{counted}} + d\,p'}{n + d}$$
#
# Here n is how often the context was seen, and d how many different characters came
# after it. A context that was never seen says what the shorter one says, and below the
# empty one, every character gets 1/61. This is called **back-off** (by interpolation,
# after Witten and Bell).

# %% [markdown] slide="notes"
# **2 minutes.** Say: the more often a context was seen, the more it is believed; if
# everything came after it, it is believed less.
#
# Ask: what does a context that was never seen answer? Will this table beat the LSTM?
#
# Expect: whatever the shorter one says; "no".
#
# Say: with four characters it has 2.44 bits. Compare with the last line of the LSTM.

# %% tags=["nbval-check-output"] slide="fragment"
tables = {n: CountTable(train_text, n, alphabet.characters) for n in range(1, 7)}
backing_off = {}
for context, table in tables.items():
    costs = table.bits(held_out_text)
    backing_off[context] = sum(costs) / len(costs)
    print(
        f"{context} characters: {backing_off[context]:.2f} bits, {len(table):,} counts"
    )

# %% [markdown] slide="skip"
# 2.44 bits, without any training. Look again at the bits of the LSTM's last line: this
# is an honest rival. (A count is a context of at most so many characters, together with
# one that came after it. And we have chosen the length on the very text that we measure
# on, which favours the table a little.) But with five and six characters it gets worse
# again. So, mixed like this, it gains nothing from further back, and from *it* back to
# *animal* there are 40 characters. We want a memory that **sums up** what was read, and
# learns what is worth keeping.

# %% [markdown] slide="slide"
# ## The recurrent network
#
# $$h_t = \tanh(W_x x_t + W_h h_{t-1} + b) \qquad \text{logits}_t = W_y h_t + b_y$$
#
# The weights are the same at every step. Three matrices and two biases are learned; the
# state is not learned, it is computed.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: which of the letters in the formula are learned? Where does the
# postcard stand?
#
# Expect: some take h for a weight. It is computed from each text, and h_0 is zero.
#
# Say: follow one letter through the picture. What was read first has to pass through
# W_h at every step since.

# %%
show_figure(
    draw.unrolled("animal"),
    "An RNN unrolled over the word animal. Each state gets an arrow from the state "
    "before (W_h) and from the character read (W_x), and sends one to the next "
    "character, which it predicts (W_y).",
)

# %% [markdown] slide="skip"
# The character $x_t$ is **one-hot**, a vector with a single 1, so that $W_x$ holds a
# column for each character. $W_h$ says what should become of the old state. The two are
# added, with a bias, and the **tanh** squeezes every number of the sum into the range
# from −1 to 1, so that no state can grow beyond all bounds. A function like this, which
# bends every number by itself, is called an **activation function**. Then $W_y$ turns
# the new state into a raw score for each character, a **logit**. (In shapes, `V` is the
# vocabulary, `D` the size of an input, `N` that of the hidden state.)

# %% slide="subslide"
show_figure(
    draw.cell_steps("rnn"),
    "One step of an RNN, drawn in three: x of shape (B, D) goes through W_x and "
    "becomes (B, N); h goes through W_h, and both are added, with the bias b; a tanh "
    "makes the new state of it, again (B, N).",
)

# %% [markdown] slide="notes"
# **1 minute.** Ask: what are the shapes of W_x and W_h, if a row of each belongs to one
# hidden unit?
#
# Expect: (D, N) from half of them. It is (N, D) and (N, N), as in `nn.Linear`.
#
# Say: so the batch, with its rows, needs a transpose. That is the next exercise.

# %% [markdown] exercise="7.A"
# Write one step, for a batch. The weights are laid out like those of `nn.Linear`: a row
# for each hidden unit.

# %% [markdown] slide="notes"
# **3 minutes.** Say: you dictate, I type; one line may be enough.
#
# Ask: the formula has W x. Why does your line have x W?
#
# Expect: `W_x @ x`, which fails on the shapes, or does not fail if B = N. Let the check
# speak.
#
# Say: this is `nn.RNNCell`.


# %% exercise="7.A"
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
    return torch.tanh(x @ W_x.T + h @ W_h.T + b)  # (B, N)
    ### END SOLUTION


# %%
check("7.A", rnn_step)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# The formula is for one column vector. Here x lies in rows, (B, D), and W_x is (N, D).
# What has to be turned, so that the D axes meet?
# </details>

# %% [markdown] exercise="7.B"
# Now the whole network, as a module: three `nn.Linear`, two of them with a bias, in
# `__init__`, and the loop over time in `forward`. It takes a state to go on with and
# gives the last one back, and gradients flow through both. No softmax: the logits go
# into `F.cross_entropy` as they are.


# %% exercise="7.B"
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
        """Read ids (B, T), step by step, from a state (B, N); None means zeros.

        Returns:
            logits (B, T, V), and the state after the last character (B, N)
        """
        x = F.one_hot(ids, self.vocab_size).float()  # (B, T, V)
        if state is None:
            state = x.new_zeros(len(x), self.hidden_size)
        logits = []
        ### BEGIN SOLUTION
        for now in x.unbind(dim=1):  # (B, V)
            state = torch.tanh(self.W_x(now) + self.W_h(state))
            logits.append(self.W_y(state))
        return torch.stack(logits, dim=1), state
        ### END SOLUTION


# %%
check("7.B", RNN)

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
# for each time: new state from character and state, logits
# from the new state; stack the logits along the time; return both.
# </details>

# %% [markdown] slide="slide"
# ## Batches that go on
#
# After every character the network predicts the next one, so a batch holds B · T tasks.
# One text becomes B long rows, and the rows are cut into pieces of T characters.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: row 0 of batch 0 stops at *The*. Where should row 0 of batch 1
# begin, if the state is to be of any use?
#
# Expect: "at the next sentence". Right behind *The*: the card must fit what comes.
#
# Say: read the two rows down the page, one after the other.

# %% tags=["nbval-check-output"]
line = "The animal did not cross."
pieces = characters.batches(alphabet.encode(line), batch_size=2, length=4)
for number, (x, y) in enumerate(pieces):
    for row in range(2):
        read, due = alphabet.decode(x[row]), alphabet.decode(y[row])
        print(f"batch {number}, row {row}: reads {read!r}, should say {due!r}")

# %% [markdown] exercise="7.C"
# Follow row 0 through the three batches: it spells *The animal d*. It **goes on** where
# row 0 of the batch before has stopped, so that the state after one batch is the right
# one to begin the next with. In pieces that are shuffled it would belong elsewhere.
#
# Write `batches`. With L characters there are n = (L − 1) // (B · T) of them, because
# the last target needs a character, too. Row b begins at place b · n · T. What is left
# over at the end is not used.

# %% [markdown] slide="notes"
# **4 minutes.** Say: work it out on paper first, the numbers 0 to 12 in two rows of
# six.
#
# Ask: in pieces of three, what stands in batch 1, row 0? Which number is the target of
# 11?
#
# Expect: 3 4 5, and 12. The usual mistake is to cut first and lay out afterwards, so
# that rows do not go on.
#
# Say: lay out, then cut; the check has a message for the other order.


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
    n = (len(ids) - 1) // (batch_size * length)
    ### BEGIN SOLUTION
    #: inputs = ...  # (B, n * T)
    #: targets = ...  # (B, n * T)
    used = n * batch_size * length
    inputs = ids[:used].reshape(batch_size, n * length)
    targets = ids[1 : used + 1].reshape(batch_size, n * length)
    return list(zip(inputs.split(length, 1), targets.split(length, 1), strict=True))
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
# take the characters that are used; lay them out in B rows; the same
# for the characters one further on; cut both into pieces of T columns.
# </details>

# %% [markdown] slide="slide"
# ## Train through time
#
# The step is that of lesson 06, with two additions: the state is carried from batch to
# batch, **cut off from its history**, and the gradient is **clipped**.

# %% [markdown] slide="notes"
# **1 minute.** Say: the state of batch 1 comes out of batch 0, and with it comes the
# graph of all operations that made it.
#
# Ask: how far back would `backward` walk in batch 50, if nobody stopped it?
#
# Expect: "to the beginning". `detach()` keeps the numbers and drops the graph.
#
# Say: clipping shortens an arrow that has become too long, and keeps its direction.

# %% [markdown] slide="skip"
# Autograd remembers how the state was made, so from the next batch it would go back
# through the batch before, and through the one before that. Between two batches
# `state.detach()` keeps the numbers and drops the history. Learning then ends at the
# border of the batch, T characters back, which is called **truncated backpropagation
# through time**. And because the gradient of an early character is a product of many
# matrices, it is now and then huge, so that a single step would ruin the weights.
# **Gradient clipping** takes the length of the gradient of all parameters together and,
# where that is more than `clip`, shortens it to `clip`: with a limit of 1 the gradient
# (3, 4), of length 5, becomes (0.6, 0.8).

# %% [markdown] exercise="7.D"
# Write one **epoch**, that is, one pass over all batches. It begins with no state.
# Return the **mean** loss, not the last one, which jumps about.


# %% exercise="7.D"
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
    state, losses = None, []  # a loss for each batch
    ### BEGIN SOLUTION
    model.train()
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
check("7.D", train_epoch)

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
# training mode; for each batch: logits and state, loss, clear, backward, clip, step,
# cut the state off, note the loss; return the mean.
# </details>

# %% [markdown] slide="slide"
# ## Let it write
#
# To write, the network reads a beginning, draws a character from its probabilities,
# reads that one as well, and so on: it is **autoregressive**, like the decoder of
# lesson 05. Before the softmax the logits are divided by a **temperature**, and with
# **top-k** only the k best may be drawn. (Lesson 11 builds both.)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: four logits, 2, 1, 0 and −1. At which of the three temperatures
# would you let a poet write?
#
# Expect: "high". Let them read the samples at 0.7 and at 2 in the lab.
#
# Say: below 1 the probable becomes more probable. And what has been read is not read
# again: the state knows it.

# %% tags=["nbval-check-output"]
logits = torch.tensor([[2.0, 1.0, 0.0, -1.0]])  # (B=1, V=4)
for temperature in (0.5, 1.0, 2.0):
    show(f"temperature {temperature}", (logits / temperature).softmax(-1))

# %% [markdown] exercise="7.E"
# Write `sample`. It reads the whole beginning, then draws, and feeds each new character
# with the state so far: what was read is not read again. Dropout must be off.
# `character_models.chances(logits, temperature, top_k)` gives the probabilities, (B,
# V), and `torch.multinomial` draws from them.


# %% exercise="7.E"
@torch.inference_mode()  # nothing here needs a gradient
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
        temperature: below 1, the probable becomes more probable
        top_k: how many characters may be drawn at each step; None for all

    Returns:
        (B, T + length): the beginning and what was written
    """
    read, state = ids, None  # nothing is read yet
    ### BEGIN SOLUTION
    model.eval()  # no dropout while it writes
    for _ in range(length):
        logits, state = model(read, state)
        p = character_models.chances(logits[:, -1], temperature, top_k)  # (B, V)
        read = torch.multinomial(p, 1)  # (B, 1)
        ids = torch.cat([ids, read], dim=1)
    return ids
    ### END SOLUTION


# %%
check("7.E", sample)

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
# evaluation mode; read the beginning; repeat: probabilities from the last logits, draw
# one, append it, read it with the state.
# </details>

# %% [markdown] slide="slide"
# ## Your network learns to write
#
# Your batches, your RNN, your epoch and your sampling, on all the sonnets, with 128
# hidden units. (`take` uses your answer where its check passes, else the course's.)

# %% [markdown] slide="notes"
# **2 minutes.** Say: five epochs of 42 batches, in a few seconds.
#
# Ask: the letter frequencies alone give 4.46 bits. After how many epochs is the network
# clearly below that? And what does it know that they do not?
#
# Expect: "after all of them"; it takes one. It knows which letters follow each other.
#
# Say: read the samples aloud, from top to bottom.


# %% slide="skip"
def one_step(kind: type[nn.Module]) -> None:
    """What a step of training does, for such a network."""
    logits, _ = kind(len(alphabet), 128)(train_ids[: 32 * 64].reshape(32, 64))
    logits.square().mean().backward()


mine = OwnParts()
mine.take("7.C", batches)
mine.take("7.B", RNN, step=one_step)
mine.take("7.D", train_epoch)
mine.take("7.E", sample)

_ = torch.manual_seed(7)
first_rnn = mine.RNN(len(alphabet), 128)
optimizer = torch.optim.Adam(first_rnn.parameters(), lr=0.01)
pieces = mine.batches(train_ids, 32, 64)
beginning = alphabet.encode("The ")[None]  # (B=1, T)

# %% slide="fragment"
for epoch in range(6):
    if epoch:
        nats = mine.train_epoch(first_rnn, pieces, optimizer, clip=5.0)
        assert nats / math.log(2) < (4.46 if epoch == 1 else 4)
        print(f"epoch {epoch}, {nats / math.log(2):.2f} bits: ", end="")
    _ = torch.manual_seed(3)
    said = mine.sample(first_rnn, beginning, 60, temperature=0.7)
    print(repr(alphabet.decode(said[0])))
print(mine)

# %% [markdown] slide="skip"
# The loss, here on the training text, comes in nats, with the natural logarithm, so we
# divide it by ln 2 to get bits. After one epoch your network has left the letter
# frequencies behind (on held-out text they need 4.46 bits, the first row of the plain
# table), and after five it spells like someone talking in their sleep. Now play with
# it: try the temperatures 0.3 and 1.5, or another beginning.

# %% slide="skip"
temperature, beginning = 0.7, "My love "

said = mine.sample(first_rnn, alphabet.encode(beginning)[None], 120, temperature)
print(alphabet.decode(said[0]))

# %% [markdown] slide="slide"
# ## A gate for the memory
#
# A plain RNN rewrites its whole card at every step. A **gate** is a small layer with a
# sigmoid, so that its numbers lie between 0 and 1, *multiplied* with another signal: 1
# lets it pass, 0 stops it. What it does at which moment is learned.

# %% [markdown] slide="notes"
# **1 minute.** Say: by hand. Four values are read, and one of them is to be kept.
#
# Ask, before you press: what stands in the cell after each step?
#
# Expect: 0.9 three times, then 0.2. Some let the 0.7 in.
#
# Say: nothing has worn the 0.9 down. A tanh at each step would have.

# %% tags=["nbval-check-output"] slide="fragment"
reads = [0.9, -0.4, 0.7, 0.2]
write_gate, keep_gate = [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]
cell, worn = 0.0, math.tanh(0.9)
for value, i, f in zip(reads, write_gate, keep_gate, strict=True):
    cell = f * cell + i * value
    print(f"read {value:4.1f}: write {i:.0f}, keep {f:.0f} → cell {cell:.1f}")
for _ in range(2):
    worn = math.tanh(worn)
print(f"0.9 after three times tanh: {worn:.2f}")

# %% [markdown] slide="subslide"
# ### LSTM: a cell and three gates
#
# $$i, f, o = \sigma(\cdot) \qquad g = \tanh(\cdot) \qquad c' = f \odot c + i \odot g
# \qquad h' = o \odot \tanh(c')$$
#
# Each dot stands for $W_x x + W_h h + b$, and each of the four has rows of its own in
# $W_x$, $W_h$ and $b$.

# %% [markdown] slide="notes"
# **3 minutes.** Say: the picture from left to right, with a finger on the formula: the
# forget gate, then what is written, then what is shown.
#
# Ask: on the way from c to c', how many matrices are there, and how many tanh?
#
# Expect: "four". None: one product and one sum. That is the whole trick.
#
# Say: long *short-term* memory: a short-term memory that lasts.

# %%
show_figure(
    draw.cell_steps("lstm"),
    "One step of an LSTM, drawn in three. Forget: the cell c, (B, N), is multiplied "
    "with the gate f, a sigmoid of x and h. Write: the gate i, a sigmoid, times g, a "
    "tanh, is added, which gives the new cell. Show: its tanh is multiplied with the "
    "gate o, which gives the new h.",
)

# %% [markdown] slide="skip"
# The **long short-term memory** keeps two vectors. The cell $c$ is what it remembers,
# and the hidden state $h$ is what it shows of that to the outside and to its own next
# step. The **forget gate** *f* says how much of each number of the cell is kept. The
# **input gate** *i* says how much of the candidate *g* is written. The **output gate**
# *o* says how much is shown. From $c$ to $c'$ there is one multiplication and one
# addition, and no matrix and no tanh. So a number of the cell stays almost as it is
# where *f* is close to 1 and *i* close to 0, and on this way back its gradient is only
# multiplied by *f*.

# %% [markdown] exercise="7.F" slide="subslide"
# Write the step. All four blocks stand below each other in one matrix, in torch's
# order: **i, f, g, o**, N rows each. In the cell below the hints, the weights of the
# LSTM from the beginning then run through *your* step: it writes with them, and its
# logits are those of torch's own layer but for rounding.

# %% [markdown] slide="notes"
# **4 minutes.** Say: one sum gives all four blocks; you dictate how to cut it.
#
# Ask: which of the four goes through a tanh? Which c goes into h'?
#
# Expect: i, f, o, g, the order of the formula; the old c instead of the new one. Make
# one of these mistakes and let the check talk.
#
# Say: this is `nn.LSTMCell`, and the next cell in the notebook lets your step write
# with the weights that we trained at the beginning.


# %% exercise="7.F"
def lstm_step(
    x: Tensor, h: Tensor, c: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor
) -> tuple[Tensor, Tensor]:
    """Read one input per row.

    Args:
        x: (B, D)
        h: (B, N), the hidden state before
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
    return torch.sigmoid(o) * torch.tanh(c), c
    ### END SOLUTION


# %%
check("7.F", lstm_step)

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
# sum; four parts; an activation function for each; new cell from what is kept and what
# is written; new h from the new cell.
# </details>

# %%
mine.take("7.F", lstm_step)
trained = copy.deepcopy(models["lstm"]).cpu().eval()


class Lent(nn.Module):
    """Your step with the weights of the trained LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.output = trained.recurrent, trained.output

    def forward(self, ids: Tensor, state: tuple | None = None) -> tuple:
        """(B, T) ids -> logits (B, T, V), and the state h, c."""
        layer = self.layer
        b = layer.bias_ih_l0 + layer.bias_hh_l0
        h, c = state or torch.zeros(2, len(ids), 128)
        shown = []
        for x in F.one_hot(ids, len(alphabet)).float().unbind(1):  # (B, V)
            h, c = mine.lstm_step(x, h, c, layer.weight_ih_l0, layer.weight_hh_l0, b)
            shown.append(h)
        return self.output(torch.stack(shown, 1)), (h, c)


with torch.no_grad():
    unseen = held_out_ids[None, :200]
    apart = (Lent()(unseen)[0] - trained(unseen)[0]).abs().max()
print("the same logits:", bool(apart < 1e-3))
assert apart < 1e-3
draws = torch.Generator().manual_seed(5)
print(character_models.sample(Lent(), alphabet, "The ", 120, temperature=0.7,
                              generator=draws))  # fmt: skip

# %% [markdown] slide="slide"
# ## Three networks and a table
#
# A plain RNN and a **GRU**, the LSTM's younger sister with two gates, now train on the
# same text: the same 1,000 steps, batches and learning rate, 128 hidden units each.

# %% [markdown] slide="notes"
# **1 minute.** Ask, before you press: order the four, the RNN, the LSTM, the GRU and
# the table, and write your order down.
#
# Expect: nearly all put the table last.
#
# Say: start it, and look at the samples while it runs.

# %% tags=["characters"] slide="fragment"
for cell in ("rnn", "gru"):
    print(cell.upper())
    models[cell], histories[cell] = learn(cell)

# %% tags=["characters"] slide="subslide"
bits = {cell: history.bits[-1] for cell, history in histories.items()}
for cell, model in models.items():
    size = sum(weight.numel() for weight in model.parameters())
    seconds = histories[cell].seconds
    print(f"{cell:5}: {bits[cell]:.2f} bits, {size:7,} parameters, {seconds:3.0f} s")
assert bits["gru"] < bits["lstm"] < bits["rnn"]

# %% slide="fragment"
print(f"table: {backing_off[4]:.2f} bits, {len(tables[4]):7,} counts")

levels = {"plain table": min(by_counting.values()), "back-off": backing_off[4]}
show_figure(
    draw.learning_curves(histories, levels),
    "Bits per held-out character of three networks, against steps and against seconds. "
    "The RNN ends near the plain table, the LSTM near the table with back-off, the "
    "GRU below both. The RNN takes the fewest seconds.",
)
assert bits["gru"] < backing_off[4] < bits["rnn"]
assert abs(bits["lstm"] - backing_off[4]) < 0.08

# %% [markdown] slide="notes"
# **3 minutes.** Ask: what would you write into the abstract of your paper?
#
# Expect: "networks beat counting". One of the three beats this table, by a tenth.
#
# Say: the table of 1991 beats the plain RNN, and the LSTM is level with it. What the
# networks have, in exchange: a size that does not grow with the text, and a vector that
# gradients go through, so that a translator can be built on it.

# %% [markdown] slide="skip"
# On a text of this size, and after these 1,000 steps, our table of counts beats the
# plain RNN and is level with the LSTM. The GRU is better, by about a tenth of a bit,
# but so is a table of four characters that mixes by the rule of Kneser and Ney: 2.33.
# At this learning rate the gated networks are ahead of the plain one step for step, but
# a step of theirs costs more: see the plot on the right. All this is one seed, one
# size, one learning rate and one length of training, so it says what happened here, and
# not which network is the best.
#
# So is a network worth the trouble? Not for these bits. Not for its size either: the
# LSTM has more weights than the table has counts. But the table grows with every new
# text, while the network keeps its size. Our table looks back four characters, and more
# made it worse, while nothing in the formula of a network limits how far it can look
# (how far it does look comes next). And its state is a vector that a gradient goes
# through, so it can become part of something larger, as in lesson 08.

# %% [markdown] slide="slide"
# ## What does one unit know?
#
# A state is 128 numbers. Colour a sonnet by **one** of them.

# %% [markdown] slide="notes"
# **2 minutes.** Say: this network has never seen this sonnet. Each letter has the
# colour of one hidden unit, after the network has read that letter.
#
# Ask: what does this unit seem to know?
#
# Expect: "where in the line we are". Move the slider: most units say nothing to us.
#
# Say: we searched 128 units for it, on other sonnets. A unit may know what nobody asked
# for.

# %% [markdown] slide="skip"
# Nobody told the network about lines, and yet what it writes has lines. Does anything
# in it know how far along a line it is? We searched for it on the training text: which
# of the LSTM's 128 units goes up or down most steadily from the beginning of a line to
# its end? Here it is, on a sonnet that the network has never seen. Each character has
# the colour of that unit after it was read. Why might the first line look different?
# Then move the slider through the others, and change the network. Many of them will
# tell you nothing. Can you find one that knows about spaces, or about capital letters?
#
# <details><summary>The first line</summary>
#
# One guess: if the end of a line sets the unit back, then in the first line nothing has
# done so, because the network begins there with a state of zeros.
# </details>


# %% slide="fragment"
def states_of(cell: str, some: str) -> Tensor:
    """The hidden state after each character of a text, (T, N)."""
    one_hot = F.one_hot(alphabet.encode(some), len(alphabet)).float()
    with torch.no_grad():
        return models[cell].recurrent(one_hot[None].to(where))[0][0].cpu()


def steadiness(cell: str, some: str) -> Tensor:
    """Correlation of each unit with the place in the line, (N,)."""
    places = [n - some.rfind("\n", 0, n + 1) for n in range(len(some))]
    both = torch.cat([states_of(cell, some).T, torch.tensor([places]).float()])
    return torch.corrcoef(both)[-1, :-1]


unit = steadiness("lstm", train_text[:20_000]).abs().argmax().item()
seen, unseen = (steadiness("lstm", some)[unit] for some in (train_text, held_out_text))
print(f"unit {unit}: correlation {seen:.2f} in training text, {unseen:.2f} in held-out")

poem = held_out_text.split("\n\n")[0]
states = {cell.upper(): states_of(cell, poem) for cell in models}
play(draw.one_unit(poem, states, ("LSTM", unit)))

# %% [markdown] slide="slide"
# ## How long does it remember?
#
# From *animal* to *it* there are 40 characters. How much of the state at *animal* is
# left at *it*? Nudge the first state a little, and see how much the later one moves.

# %% [markdown] slide="notes"
# **3 minutes.** Say: the derivative of the later state with respect to the earlier one
# is a product of one matrix for each step. The curve is its size.
#
# Ask, before you press: a plain RNN, 40 steps: what is left of 1?
#
# Expect: "a tenth". Let them read it off, it is a log scale.
#
# Say: a straight line on a log scale takes the same share at each step. The gated ones
# fade as well, but slowly. What can't be felt can't be learned: that is the vanishing
# gradient.

# %% [markdown] slide="skip"
# This is a question about the matrix of derivatives $\partial h_t / \partial h_0$, and
# by the chain rule it is a product of t matrices, one for each step. If they shrink
# what they are multiplied with, the past fades. The gradient that should teach the
# network to keep something passes through the same product on its way back, so it
# **vanishes** with it. Below is the size of this product in the three trained networks,
# as a geometric mean over 16 places in held-out sonnets. The size is a norm, the root
# of the sum of all squared entries, divided by the norm of the identity, so that it is
# 1 before any step. (An LSTM has two states to ask about: *by c_0* says how $h_t$
# depends on the first cell.) Draw your guess for the plain RNN before you look, on a
# log scale, up to 60 characters.

# %% slide="skip"
windows = torch.stack([held_out_ids[n : n + 100] for n in range(0, 8000, 500)])
typical = {}  # (cell, part of the state) -> (T,), geometric mean over 16 places
for cell, model in models.items():
    faded = recurrent.influence(model, windows.to(where), warm_up=40)
    for part, norms in faded.items():
        typical[cell, part] = norms.log().mean(0).exp().cpu()

TIRED = "The animal did not cross the street because it was too tired."
far = TIRED.index("it was") - TIRED.index("animal")
for (cell, part), norms in typical.items():
    at = ", ".join(f"{norms[t - 1]:.0e} ({t})" for t in (1, 10, 20, far))
    print(f"{cell:4} by {part}_0: {at}")

untrained = {}
for cell in models:
    torch.manual_seed(seed)
    untrained[cell] = recurrent.CharacterModel(len(alphabet), 128, cell).to(where)
    for part, norms in recurrent.influence(
        untrained[cell], windows.to(where), 40
    ).items():
        left = norms[:, far - 1].log().mean().exp()
        print(f"{cell:4} by {part}_0, before training: {left:.0e} ({far})")
        assert left < 1e-6

# %% slide="fragment"
show_figure(
    draw.influences(typical),
    "Influence of the first state on later ones, on a log scale, against the distance "
    "in characters, for RNN, LSTM and GRU.",
)
assert far == 40
assert typical["rnn", "h"][39] < 0.1 * typical["lstm", "c"][39]
assert typical["rnn", "h"][39] < 0.1 * typical["gru", "h"][39]

# %% [markdown] slide="skip"
# The RNN's curve is nearly straight on the log scale, which means that each step takes
# about the same share away, and at 40 characters about a hundred-thousandth is left. Of
# the two states of the LSTM, the cell leaves more behind than the hidden state. It
# fades, too, and so does the GRU, but over 40 characters, about a line of a sonnet, the
# cell and the GRU keep far more than ten times as much as the plain RNN. Before they
# were trained, less than a millionth got through in all three: the gates make the
# difference possible, and the training makes it. These are three networks, from one
# seed and at one learning rate.
#
# All this says what is left, and not that a network uses it. So let each of them read
# only the last few characters, from a state of zeros, and guess the next one. Where the
# bits no longer fall, what lies further back is of no use to it.

# %% slide="skip"
ends = range(80, len(held_out_ids), 7)  # the places that are guessed


def bits_of_the_last(cell: str, few: int) -> float:
    """Bits per character for a network that reads only so many characters."""
    read = torch.stack([held_out_ids[end - few : end] for end in ends])
    with torch.no_grad():
        logits = models[cell](read.to(where))[0][:, -1].cpu()
    nats = F.cross_entropy(logits, held_out_ids[80::7])
    return nats.item() / math.log(2)


reach = (4, 12, 20, 40, 80)
used = {cell: [bits_of_the_last(cell, few) for few in reach] for cell in models}
print("characters:", *(f"{few:5}" for few in reach))
for cell, costs in used.items():
    print(f"{cell:10}:", *(f"{cost:5.2f}" for cost in costs))
assert used["rnn"][2] - used["rnn"][4] < 0.06
assert all(used[cell][2] - used[cell][3] > 0.08 for cell in ("lstm", "gru"))
assert all(used[cell][3] - used[cell][4] < 0.06 for cell in models)

# %% [markdown] slide="skip"
# The plain RNN has got nearly all it can from 20 characters. The LSTM and the GRU gain
# much more between 20 and 40, which is where the last line began: they remember that
# far, and they use it. From 40 to 80, hardly anything changes for any of them. (In
# training they seldom began with a state of zeros, which may cost them something where
# they read little.)

# %% [markdown] slide="slide"
# ## What the Transformer changes
#
# Between any two places, attention needs **one** step, whatever their distance, and
# when it reads, all places are worked on at once. The price is a score for every pair:
#
# | length | RNN: steps in a row | attention: steps | scores |
# |---|---|---|---|
# | 10 | 10 | 1 | 100 |
# | 100 | 100 | 1 | 10,000 |
# | 1,000 | 1,000 | 1 | 1,000,000 |

# %% [markdown] slide="notes"
# **1 minute.** Ask: 1,000 characters. How many steps lie between the first and the
# last, in an RNN and in attention? Who pays what?
#
# Expect: 999 and 1; a million scores.
#
# Say: the state of an RNN waits for the one before it, so no graphics card can work on
# all of them at once. When it writes, a Transformer goes step by step, too.

# %% [markdown] slide="slide"
# ## Bugs from the wild
#
# Mistakes from published programs; a fifth one is further on.
#
# **The history that was kept.** Someone carries the state from batch to batch and
# forgets to cut it off. Here is that loop in small, in three versions: as it is, with
# the `retain_graph=True` that the first message suggests, and with the logits cut off
# instead of the state. What does each of the messages complain about?


# %% locked=true tags=["nbval-check-output"]
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


versions = {
    "as it is": three_batches(keep_graph=False),
    "with retain_graph=True": three_batches(keep_graph=True),
    "with bare numbers for logits": three_batches(keep_graph=False, bare_logits=True),
}
for name, message in versions.items():
    print(textwrap.fill(f"{name}: {message}", 88), "\n")

# %% [markdown] exercise="7.G"
# The first message *suggests* `retain_graph=True`. The second says why that does not
# help: `backward` walks into batch 1 again, whose weights the optimizer has changed.
# The third finds nothing to walk through, as bare numbers have no history at all. What
# has to happen to the state between two batches?


# %% exercise="7.G"
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
check("7.G", carried)

# %% [markdown] slide="skip"
# <details><summary>Hint: a pointer</summary>
#
# Lesson 06 turned a loss into a bare number. Here the tensor should stay a tensor, but
# come from nowhere. A method of tensors does that.
# </details>

# %% [markdown]
# **Dropout that was left on.** In training, dropout sets different units to 0 each
# time. The same model reads *a fox met* three times and prints the probabilities that
# it gives to *a*, *e* and *t*, once as it comes out of training, once after `.eval()`.
# Which of the two, A or B, has its dropout active? The cell below prints what that
# costs our three networks, in bits.
#
#     A  [0.1365 0.1309 0.1307]      B  [0.1453 0.1242 0.1331]
#     A  [0.1365 0.1309 0.1307]      B  [0.1499 0.1205 0.1361]
#     A  [0.1365 0.1309 0.1307]      B  [0.1491 0.1345 0.1249]
#
# **Two that no loss curve shows.** Targets made by `torch.roll(ids, -1)` take the first
# character of the text to its end: find the wrong one below. And a blind `squeeze()`,
# which removes *all* axes of length 1, turns the top **one** of a row into a bare
# number without any axis.

# %%
for cell, model in models.items():  # what it costs if nobody calls .eval()
    with torch.no_grad():
        logits, _ = model.train()(held_out_ids[None, :-1].to(where))
    wrong = F.cross_entropy(logits[0].cpu(), held_out_ids[1:]).item() / math.log(2)
    model.eval()
    print(f"{cell:4}: {bits[cell]:.2f} bits, with dropout left on {wrong:.2f}")
    assert wrong > bits[cell]

rolled = torch.roll(alphabet.encode(line)[:24], -1)
print("the true next one:", repr(line[1:25]))
print("rolled:           ", repr(alphabet.decode(rolled)))
best = torch.tensor([[0.3, 0.9, 0.1]]).topk(1)
print("squeezed:", best.values.shape, "→", best.values.squeeze().shape)

# %% [markdown] slide="slide"
# ## Going further
#
# From here on everything is optional: the fifth bug, the GRU, the memory measured by
# your own code, and a series with a memory.

# %% [markdown] exercise="7.J"
# A formula says $\hat y = \mathrm{softmax}(W_y h + b_y)$, and `F.cross_entropy` has a
# softmax inside. Someone writes both. Training runs, but for 61 characters the loss
# stops near 3.14. Compute the **lowest** loss that this program can reach, to **three
# decimals**.

# %% exercise="7.J"
### BEGIN SOLUTION
lowest_loss = math.log(1 + 60 / math.e)  # the best logits are 1, 0, 0, ... 0
### END SOLUTION

# %%
check("7.J", lowest_loss)

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

# %% [markdown] slide="subslide"
# ### GRU: two gates and no cell
#
# $$r, z = \sigma(\cdot) \qquad n = \tanh(W_x x + b_x + r \odot (W_h h + b_h)) \qquad
# h' = (1 - z) \odot n + z \odot h$$
#
# The **update gate** *z* decides between old and new. The **reset gate** *r* hides the
# past from the candidate *n*.

# %%
show_figure(
    draw.cell_steps("gru"),
    "One step of a GRU, drawn in three. Reset: what W_h makes of h is multiplied with "
    "the gate r. The candidate: that, plus W_x x, goes through a tanh. Old or new: h "
    "times z, plus the candidate times 1 - z, is the new h.",
)

# %% [markdown] exercise="7.K"
# Write the step, with torch's order of the blocks: **r, z, n**. Both biases are needed,
# as *r* is multiplied with one of them. (Papers disagree here. As published in 2014,
# the GRU resets before the matrix, $W_h (r \odot h)$, and in another version z = 1
# writes. We follow torch, and its weights: reset after the matrix, and z = 1 keeps.)


# %% exercise="7.K"
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
check("7.K", gru_step)

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

# %% [markdown] exercise="7.M"
# Write the measurement for any cell: for each t, the norm of $\partial h_t / \partial
# h_0$, which is the root of the sum of all squared entries.
# `torch.autograd.functional.jacobian(f, h)` gives the matrix of one function at one
# place.


# %% exercise="7.M"
def influence(step, inputs: Tensor, h: Tensor) -> Tensor:
    """How strongly each later state depends on the first.

    Args:
        step: takes an input (D,) and a state (N,), returns the next state (N,)
        inputs: (T, D)
        h: (N,), the first state

    Returns:
        (T,), the norm of dh_t / dh_0 for t = 1 to T
    """
    norms, product = [], torch.eye(len(h), dtype=h.dtype)
    ### BEGIN SOLUTION
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
check("7.M", influence)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# $h_2 = s(x_2, s(x_1, h_0))$. Which two matrices does the chain rule multiply, each
# taken at which state, and in which order?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The product begins with the identity, because before any step $h_0$ is itself. Each
# step multiplies it with one more matrix. On which side?
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# for each input: the matrix of this step at this state; the product with it; go one
# step; note the norm.
# </details>

# %%
for name, model in {"before": untrained["rnn"], "after": models["rnn"]}.items():
    W_h = model.recurrent.weight_hh_l0.detach().cpu()
    largest = torch.linalg.eigvals(W_h).abs().max()
    alone = torch.linalg.matrix_power(W_h, far).norm() / 128**0.5  # the identity's: 1
    print(
        f"{name} training: largest eigenvalue of W_h, in size, {largest:.2f}; ", end=""
    )
    print(f"{far} times W_h, without any tanh: {alone:.0e}")
    assert (largest > 1 and alone > 1) == (name == "after")
slopes = 1 - states_of("rnn", poem).square()  # of the tanh, where its value is h
print(f"mean slope of the tanh in the trained RNN: {slopes.mean():.2f}")
assert slopes.mean() < 0.6
show_figure(
    draw.activations(),
    "Three curves with their slopes. Sigmoid: from 0 to 1, steepest at 0 with slope "
    "0.25. tanh: from -1 to 1, slope 1 at 0. ReLU: 0, then a straight line; its slope "
    "jumps from 0 to 1.",
)

# %% [markdown]
# You may read that the state of an RNN fades because the eigenvalues of $W_h$ are all
# below one. Before training that is so, and 40 times $W_h$ alone explains what was
# measured. In our trained RNN the largest is above 1, so the matrices alone would let
# the product grow, and it fades anyway. What shrinks it are the slopes of the tanh:
# where a unit is near −1 or 1, the curve is flat and lets almost nothing through. The
# figure shows the slopes of three activation functions. The **sigmoid** gives 0 to 1, a
# probability or how far a gate is open, and the **tanh** a value with a sign. The
# **ReLU** is cheap, and it is the only one whose slope can stay 1 over many steps,
# wherever its input is above 0.

# %% [markdown] exercise="7.N"
# A page shows an unreadable sample of a plain RNN ("Hew, and serelt ..."). Its 325,181
# parameters (61 characters, 512 hidden units) read a text of 94,081 characters, and it
# wrote with its dropout on. The page explains: it is not readable *because of* the
# vanishing gradient. You have numbers now: the influence, the bits,
# dropout left on, the tables of counts. **How much of the claim do they carry**, and
# which experiment would settle it? Write six to eight sentences.

# %% [markdown] answer="7.N"
# ### BEGIN SOLUTION
# **Model answer.** The effect is real: in our trained RNN the influence of a state on
# later ones falls by orders of magnitude within some dozens of characters, so what lies
# further back can hardly be used, or learned from. But a word is five or six characters
# long, and at that distance the influence is still there. The fading may explain why a
# sample has no rhyme and no thread; it does not explain misspelt words. Nearer causes
# are known: dropout was active while it was written, which costs bits here, too, and
# 94,081 characters are little to learn a language from. A table of counts that looks
# back four characters needs no more bits than our LSTM, so bits like these can be had
# from what lies close by. To settle it I would change one thing at a time, dropout off,
# ten times the text, an LSTM of the same size, and compare bits over several seeds.
#
# **Rubric (3 points).** 1: reads the influence as a distance and relates it to the
# length of words or lines. 1: names a nearer cause with a number from this lesson
# (dropout, amount of text, the table of counts). 1: proposes an experiment that changes
# one thing.
# ### END SOLUTION

# %% [markdown] slide="slide"
# ### A series with a memory
#
# Statistics had memories long before networks. In **ARMA** models a value depends on
# the last value and on the last random push, or on several of each: $y_t = \varphi\,
# y_{t-1} + \theta\, \varepsilon_{t-1} + \varepsilon_t$. With $\theta = 0$ this is
# AR(1), and with a tanh around it, it looks like a recurrent network with one unit.
# (RNNs do not descend from it; they came from the study of the brain and of language.)
# Push once and watch the echo. Two of the three halve at every step: from when on?

# %% tags=["nbval-check-output"]
echoes = {"AR(1)": [], "ARMA(1,1)": [], "with tanh": []}
y, before, both, h = 0.0, 0.0, 0.0, 0.0
for push in [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]:
    y = 0.5 * y + push
    both = 0.5 * both + 0.4 * before + push
    h = math.tanh(0.5 * h + push)
    before = push
    for name, value in zip(echoes, (y, both, h), strict=True):
        echoes[name].append(value)
for name, values in echoes.items():
    print(f"{name:9}:", [round(value, 4) for value in values])

# %% [markdown] slide="slide"
# ## What you can do now
#
# You have written an RNN and an LSTM, laid a text out in batches that go on, trained
# through time, cut and clipped, and let your own network write. You know what a memory
# is worth, in bits per character, how far it reaches, and that a table of counts is a
# rival to be taken seriously.
#
# Next, lesson 08: two of these networks translate. The first has to pass a whole
# sentence through one vector, and then it is given attention.

# %% [markdown] slide="notes"
# **1 minute.** Ask: what would you put on the postcard after today?
#
# Expect: "gates". And that the rival was a table from 1991.
#
# Say: in lesson 08 one such vector has to carry a whole sentence into another language.
# Who thinks that it will fit?

# %% [markdown] slide="skip"
# **Try it.** Another text: `load_text("my_book.txt")`. Other settings: hidden size,
# length T, rate, dropout 0. Which network gains most, and where does the table stay?
#
# **References.** Rumelhart, Hinton and Williams 1986, for back-propagation; Elman 1990,
# *Finding Structure in Time*. Witten and Bell 1991 and Kneser and Ney 1995, for tables;
# Chen and Goodman 1998, on both. Hochreiter and Schmidhuber 1997, *Long Short-Term
# Memory*; Gers et al. 2000, for the forget gate. Cho et al. 2014 (arXiv 1406.1078) and
# Chung et al. 2014 (arXiv 1412.3555), for the GRU. Bengio et al. 1994 and Pascanu et
# al. 2013 (arXiv 1211.5063), for vanishing and exploding gradients. Karpathy 2015, *The
# Unreasonable Effectiveness of Recurrent Neural Networks*, and Karpathy et al. 2015
# (arXiv 1506.02078), for units one can read. Yule 1927 and Whittle 1951, for
# autoregression and ARMA. Vaswani et al. 2017 (arXiv 1706.03762), table 1, for path
# lengths; 2019 brought GPT-2, a decoder on much text, which lesson 10 builds.
