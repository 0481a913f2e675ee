# %% [markdown] slide="slide"
# # 08 Translation: sequence to sequence, before and after attention
#
# **How much of a sentence fits through one vector?**
#
# You need: lessons 06 and 07. Time: {minutes}. Run in one go, the notebook takes
# {run time} on one core, most of it for four trainings.

# %% [markdown] slide="notes"
# **1 minute.** Say: today we go back to 2014, to the problem that attention was
# invented for.
#
# Ask: lesson 07 ended with networks that write a symbol for each symbol that they read.
# Why is that not enough to translate?
#
# Expect: "the other language has another number of words". And another order.

# %% [markdown] slide="notes"
# Start the training cell under *Cover the page* and the one under *A translator of your
# own parts* before the class. Leave 8.E and everything below Going further for the lab.
# Usual trouble: the context of a padded sentence, and which state asks.

# %% [markdown] slide="skip"
# At the end of this lesson you can
#
# - build an encoder-decoder from two recurrent networks;
# - find out by experiment whether a model lacks room or training;
# - write the attention of 2014, the one that came before the Transformer;
# - train a translator of your own parts on sentences, and say what it costs.

# %% [markdown] slide="slide"
# ## Cover the page
#
# Read this number once, cover it, and write it down in another language:
#
# *six hundred and forty-seven thousand, three hundred and nineteen*
#
# Now do it once more, with the page open.

# %% [markdown] slide="notes"
# **3 minutes.** Say: read it once. Now it is covered; write. Then uncover it and write
# it again.
#
# Ask: what did you do the second time that you could not do the first time?
#
# Expect: "look". Let them say when: before each word, and at one part of the number
# only.
#
# Say: the first time all of it had to be in your head at once. That is the difference
# between the two networks of this lesson.

# %% [markdown] slide="skip"
# The second time was easier, because you looked back before each word, and you looked
# only at the part that you needed next. The first time everything had to fit into your
# head before you wrote the first word. In 2014 two groups built translators that work
# as you did with the page covered (Sutskever et al., Cho et al.): one recurrent network
# reads the sentence to its end, and a second one writes the translation from what the
# first remembers, which is a single vector. This is called **sequence to sequence**, or
# an **encoder-decoder**. In the same year Bahdanau, Cho and Bengio let the second
# network look back: the first translator with attention.
#
# Here are both, each with a state of 16 numbers. They learn to write English numbers of
# up to six digits in German. Start the next cell, and do the
# experiment above while it runs. Then guess: of 100 numbers that they have never seen,
# how many will each of the two get right?

# %%
import torch
from torch import Tensor, nn

from helpers import show
from helpers.checks import check
from helpers.corpora.language.lookup import UnknownWords, lookup
from helpers.corpora.language.words import parted
from helpers.corpora.vocabulary import END, START
from helpers.experiments import bottleneck
from helpers.experiments import language as sentences
from helpers.experiments import translators as seq2seq
from helpers.experiments.translation import exact_match, misses
from helpers.figures import show_figure
from helpers.figures import translation as draw
from helpers.generation.decoding import greedy_decode
from helpers.models.masks import padding_mask
from helpers.student.own_parts import OwnParts

# %% slide="skip"
numbers = seq2seq.long_number_task("en", "de")
translators = {}
for kind in ("RNN", "RNN with attention"):
    _ = torch.manual_seed(8)
    translators[kind] = seq2seq.new_translator(kind, numbers, d_model=16)
    _ = seq2seq.teach(translators[kind], numbers, steps=800, seed=8, name=kind)

# %% slide="subslide"
texts = {
    kind: seq2seq.translate(model, numbers, numbers.held_out)
    for kind, model in translators.items()
}
scores = {kind: exact_match(numbers.held_out, some) for kind, some in texts.items()}
for place in (500, 640, 780):
    pair = numbers.held_out[place]
    print(f"{pair.number:,}: {pair.source}")
    for kind, some in texts.items():
        print(f"    {kind:18} {some[place]}")
for kind, score in scores.items():
    print(f"{kind:18} right in every letter: {score:.1%} of {len(texts[kind])}")
assert scores["RNN"] < 0.15 and scores["RNN with attention"] > 0.85

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: both have 16 numbers in their head, both read
# the same 7,200 pairs equally often. How many of 100 new numbers does each get right?
#
# Expect: "half, and three quarters". It is nearly none against nearly all.
#
# Say: read a wrong one aloud. It is a proper German number, and it is another one.

# %% [markdown] slide="skip"
# The one that looks back gets nearly all of them right, and the other one next to
# nothing. Read what the other one writes, though: these three are proper German
# numbers, correctly spelt. It has learned the language, and it has lost the number. It
# is tempting to say at once why: six digits don't fit into 16 numbers. But there is a
# second explanation, which is easily overlooked: perhaps it has not been trained long
# enough. In this lesson you build both translators, and you look for a way to tell the
# two explanations apart.

# %% [markdown] slide="skip"
# **Letters in shape comments**: `B` batch, `T` target or query length, `S` source or
# key length, `D` d_model, the width of words and states, `V` vocabulary. A mask is
# boolean, True means "may attend". There are no heads here, so a mask broadcasts to
# (B, T, S). Id 0 is padding, 1 starts a sentence, 2 ends it.

# %% [markdown] slide="slide"
# ## The first word fades
#
# A network whose state is one number: `state = tanh(0.8 * state + word)`. Two sentences
# begin with +1 and with −1, and go on with the same words. Can the last state still
# tell which one it was?

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: with no further word the two states are 1.52
# apart. And after four words? After sixteen?
#
# Expect: "half", "a tenth". It is less than a thousandth in the end.
#
# Say: each step multiplies the difference by 0.8 at most, and the tanh takes some more.

# %% [markdown] slide="skip"
# Start with the smallest network there can be, so small that you can compute it by
# hand. After the first word the two states are tanh(1) = 0.7616 and −0.7616. The second
# word is 0.3 in both sentences. So the first network computes
# 0.8 · 0.7616 + 0.3 = 0.9093, whose tanh is 0.7208, and the other one arrives at
# −0.2998. They were 1.5232 apart, and now they are 1.0206 apart. Every further word is
# the same for both and brings them closer. How far apart will they be after sixteen
# words? Write down a number before you run the cell.


# %% tags=["nbval-check-output"] slide="fragment"
def last_state(words: list[float]) -> float:
    """Read word after word, and return the state after the last one."""
    state = torch.zeros(())
    for word in words:
        state = torch.tanh(0.8 * state + word)
    return state.item()


rest = [0.3, -0.2, 0.4, 0.1] * 4
for length in (0, 1, 2, 4, 8, 16):
    apart = last_state([1.0, *rest[:length]]) - last_state([-1.0, *rest[:length]])
    print(f"{length:2} more words: the last states are {apart:.4f} apart")

# %% [markdown] slide="skip"
# A network that is used has more numbers in its state, and the gates of lesson 07 learn
# what to keep, so this fading is not fate. But one thing stays as it is in the toy: all
# that the second network will ever learn about the first word is what is left of it in
# the last state. This state is called the **context**.

# %% [markdown] slide="slide"
# ## One network reads, one writes

# %% [markdown] slide="notes"
# **2 minutes.** Say: blue reads, green writes; follow one number from left to right.
#
# Ask: where in this picture could a word get lost?
#
# Expect: "at the red arrow". That is the only way from the left to the right.

# %%
show_figure(
    draw.encoder_decoder(
        ["three", "hundred", "and", "forty", "-", "two"],
        ["start", "drei", "hundert", "zwei", "und", "vierzig"],
    ),
    "Two chains of states. Six blue ones read three hundred and forty-two; all of them "
    "together are the memory, (B, S, D). The last one is the context, (B, D), and a "
    "single arrow leads from it to the first of six green ones. Each green state reads "
    "the word that was written last and scores the next one, (B, T, V).",
)

# %% [markdown] slide="skip"
# The sentences of a batch have different lengths, and padding stands behind the short
# ones. A recurrent network does not know that, so it goes on reading the padding as if
# it were words, and its state goes on changing. Which of its states is the one after
# the last **real** word? That is the only catch in the encoder; the GRU itself you know
# from lesson 07, and here you may take torch's.

# %% [markdown] exercise="8.A" slide="subslide"
# Write the encoder: an embedding and a GRU, `nn.GRU`. It returns all its states, the
# **memory**, and the state after the last real word, the **context**. What the memory
# holds at padding does not matter.

# %% [markdown] slide="notes"
# **4 minutes.** Say: you dictate, I type.
#
# Ask: a sentence of three words stands in a batch that is five wide. Which state is its
# context?
#
# Expect: "the last one", `memory[:, -1]`. That one has read two paddings.
#
# Say: a sentence must mean the same in any company. Count the real words, and pick.


# %% exercise="8.A"
class Encoder(nn.Module):
    """Reads a sentence, word by word.

    Attributes:
        embedding: nn.Embedding, from ids to vectors of width D
        rnn: nn.GRU, from width D to width D
    """

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        ### BEGIN SOLUTION
        self.rnn = nn.GRU(d_model, d_model, batch_first=True)
        ### END SOLUTION

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Read a batch of sentences.

        Args:
            ids: (B, S), padding has the id 0 and stands behind the words

        Returns:
            memory (B, S, D), context (B, D)
        """
        ### BEGIN SOLUTION
        #: memory = ...  # (B, S, D)
        #: last = ...  # (B), the place of the last real word
        memory, _ = self.rnn(self.embedding(ids))  # (B, S, D)
        last = (ids != 0).sum(1) - 1  # (B)
        rows = torch.arange(len(ids), device=ids.device)
        return memory, memory[rows, last]
        ### END SOLUTION


# %%
check("8.A", Encoder)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# A sentence has three real words, the batch is five wide. At which place, counted from
# 0, is the state that you want?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Two index tensors of the same length pick one entry per row: `table[rows, columns]`.
# And look up which axis `nn.GRU` takes for time.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# states of all places from the recurrent layer; count the real words of each row; from
# each row take the state at that count less one.
# </details>

# %% slide="skip"
encoder = Encoder(13, 4)
alone, padded = torch.tensor([[5, 6, 7]]), torch.tensor([[5, 6, 7, 0, 0]])
show("context, alone     ", encoder(alone)[1])
show("context, padded    ", encoder(padded)[1])

# %% [markdown] slide="skip"
# The two must agree, because a sentence should mean the same whatever it shares a batch
# with. `nn.GRU` itself also returns a last state, but that is the one after the last
# **column**. A translator that takes it may give another answer as soon as the batch
# is another one.
#
# The decoder is a second GRU. Its first state is the context, its first word is the
# start token, and it says which word comes next. While it learns, it reads the **true**
# words of the target, as your Transformer did in lesson 06: teacher forcing. Does it
# need a causal mask? Think about it before you read on. It does not: a recurrent
# network reads from left to right, so at word t it has not read word t + 1 yet.

# %% [markdown] exercise="8.B" slide="subslide"
# Write the decoder. The context is the first state of its GRU, and that is all it gets
# to know about the source.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: the Transformer's decoder needed a causal mask. Where is it here?
#
# Expect: silence, then "it can't see the future". It reads word by word.
#
# Say: `nn.GRU` takes words and a first state. The only trouble is an axis of length 1,
# for the layers.


# %% exercise="8.B"
class Decoder(nn.Module):
    """Writes a sentence from one vector.

    Attributes:
        rnn: nn.GRU, from width D to width D
        final_layer: nn.Linear, from D to a score for each word
    """

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.final_layer = nn.Linear(d_model, vocab_size)
        ### BEGIN SOLUTION
        self.rnn = nn.GRU(d_model, d_model, batch_first=True)
        ### END SOLUTION

    def forward(self, target: Tensor, context: Tensor) -> Tensor:
        """Score the next word at every place, given the true ones before it.

        Args:
            target: (B, T), token ids, the start token first
            context: (B, D)

        Returns:
            logits (B, T, V): row t scores the word that follows target[t]
        """
        ### BEGIN SOLUTION
        #: states = ...  # (B, T, D)
        first_state = context.unsqueeze(0)  # (layers=1, B, D)
        states, _ = self.rnn(self.embedding(target), first_state)  # (B, T, D)
        return self.final_layer(states)
        ### END SOLUTION


# %%
check("8.B", Decoder)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# `nn.GRU` takes two things when you call it. Which of the two is the context?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The first state of `nn.GRU` has an axis for its layers in front: (1, B, D).
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# look up the words; run the recurrent layer over them, from the context with one more
# axis; score the states of all places.
# </details>

# %% slide="skip"
logits = Decoder(11, 4)(torch.tensor([[1, 5, 6, 7]]), torch.zeros(1, 4))
show("scores of the word after the start", logits[0, 0], digits=2)

# %% [markdown] slide="slide"
# ## Is it the width, or the training?
#
# The translator without a look back failed at the beginning. Is its context of 16
# numbers too narrow, or did we stop too early?

# %% [markdown] slide="skip"
# You have now built the translator that failed at the beginning: its whole knowledge of
# the source is a context of 16 numbers. Whoever wants to know whether they are too few
# could make the context wider, and would see the score rise. But that proves less than
# it seems to, because both networks grow with it, and may learn faster. The fair
# question is what the narrow one can do when it has learned all that it can. So we
# trained it with two widths and different numbers of steps, always from the start and
# to the end of its learning rate. Here is the share of 800 held-out numbers that came
# out right in every letter. Look at width 64 first: what would you have concluded if
# you had stopped at 400 steps?

# %% tags=["nbval-check-output"]
measured = bottleneck.WITHOUT  # width -> {steps -> exact match}
for width, row in measured.items():
    for steps, score in row.items():
        print(f"width {width}, {steps:,} steps: {score:.1%} right")

# %% [markdown] slide="notes"
# **2 minutes.** Ask: somebody has only the row of width 64 with 400 steps. What do they
# tell their boss?
#
# Expect: "the vector is too small". Now the next row: it was merely not finished.
#
# Say: at both widths the first score is bad, and the causes may differ. One number
# can't tell them apart.

# %% [markdown] exercise="8.C" slide="subslide"
# Write down how you would decide. You get such a table, and a translator that is
# perhaps not good enough. It was the `"training"` if more steps of the same width are
# enough. It was the `"width"` if they are not and a wider one is, and `"neither"` if
# not even that is enough. And be honest: if the score is still rising at the end of the
# longest training, it is `"undecided"`.

# %% [markdown] slide="notes"
# **3 minutes.** Say: no code yet. Which two numbers of the table do you compare first?
#
# Ask: the wide one is right and the narrow one is wrong, after as many steps. Is it the
# width?
#
# Expect: "yes". No: the wide one may only learn faster. First train the narrow one for
# as long as you can.
#
# Say: and if its score is still rising then, you don't know yet. It is a result to say
# so.


# %% exercise="8.C"
def what_limits(
    scores: dict[int, dict[int, float]], width: int, steps: int, enough: float = 0.95
) -> str:
    """What keeps a translator from being right?

    Args:
        scores: width -> {steps -> share of held-out numbers that are right, 0 to 1};
            at least two numbers of steps for each width, in any order
        width: of the translator in question
        steps: of its training
        enough: a score of at least this is good enough

    Returns:
        "nothing" if this training is good enough; else "training", if the longest one
        of this width is; else "undecided", if the longest is more than 0.02 better than
        the longest but one; else "width", if the widest is good enough after its
        longest training; else "neither"
    """
    ### BEGIN SOLUTION
    #: row = ...  # steps -> score, of this width
    row, widest = scores[width], scores[max(scores)]
    *_, before, longest = sorted(row)
    if row[steps] >= enough:
        return "nothing"
    if row[longest] >= enough:
        return "training"
    if row[longest] - row[before] > 0.02:
        return "undecided"
    return "width" if widest[max(widest)] >= enough else "neither"
    ### END SOLUTION


# %%
check("8.C", what_limits)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# A narrow network is at 50 % and a wide one at 99 %, after equally many steps. Which
# number do you still need before you may blame the width?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `sorted(row)` gives the numbers of steps in order, whatever the order in the table.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# the row of this width; its longest training and the one before that. Good enough as it
# is? Good enough at the longest? Still rising? And the widest at its longest?
# </details>

# %% [markdown] slide="subslide"
# Now use your function on the real table. Here are the shorter training of width 64 and
# that of width 16, and neither is good enough. What does it say of each?

# %% slide="fragment"
for width in (64, 16):
    steps = min(measured[width])
    verdict = what_limits(measured, width, steps)
    print(f"width {width}, {steps} steps, {measured[width][steps]:.1%}: {verdict}")

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: which verdict for 64, which for 16?
#
# Expect: "training" and "width". The second one is "undecided": its score is low, and
# it is still rising.
#
# Say: that is what an honest answer looks like. It tells us what to do next: train it
# for longer.

# %% [markdown] slide="skip"
# At width 64 it was the training: the same network, a little later, is right nearly
# always, so a context of 64 numbers carries six digits. Somebody who had stopped at 400
# steps would have published an artefact. At width 16 the answer is less comfortable. A
# few numbers in a hundred are right, and they are more than with half of the steps. So
# "16 numbers can't hold six digits" is more than this table shows, and the next thing
# to do is to train for longer. We did, for 6,000 steps, and 7.8 % were right. Which
# verdict will your function give, and would you agree?

# %% slide="skip"
longer = {**measured, 16: {**measured[16], 6000: 0.078}}
print(what_limits(longer, 16, 1000))

# %% [markdown] slide="skip"
# Still undecided: three times the steps brought three more in a hundred. There is
# another way to ask. At width 64 not only the context is wider, both networks are. So
# we left them wide and let 16 of the 64 numbers through, with 0 for the others. With
# three seeds, 26 to 74 % were right after 2,000 steps and 90 to 99 % after 6,000, where
# the narrow networks got 6 to 18 %. So 16 numbers can hold nearly all of what has to be
# said, and with the same context and as many steps wider networks made far more of it.
#
# The commands are in `docs/experiments.md` under *bottleneck* and *narrow_context*.
# What can be said of width 16? With this recipe, after 2,000 steps, it gets fewer than
# one number in ten right, with each of three seeds. That is narrower than "it does not
# fit", and enough to look for a remedy.

# %% [markdown] slide="slide"
# ## Look back: additive attention
#
# $$score(q, k) = v^\top \tanh(W_q\, q + W_k\, k)$$
#
# Keep **all** states of the encoder, and let the decoder ask before each word. The
# attention of 2014 compares a query with a key by a small network.

# %% [markdown] slide="notes"
# **2 minutes.** Say: this is the attention of 2014, and you know everything in it
# except the score.
#
# Ask: query (1, 0), keys (1, 0), (−1, 0) and (0, 2). Add, take the tanh, add up. Which
# key wins?
#
# Expect: "the first, for it is equal to the query". It is the third.
#
# Say: an additive score does not ask who is similar. The two matrices and v have to
# learn what fits.

# %% [markdown] slide="skip"
# A wider context is one way out, but it only moves the border: a sentence has no
# greatest length, and a vector has a width. The other way is to do what you did with
# the page open. The encoder has a state for each word anyway, so keep them all. Before
# each word the decoder's state becomes a query, every state of the memory is a key and
# a value, and what comes back is a weighted mean: the soft dictionary of lesson 02.
# Only the score is another one.
#
# Bahdanau, Cho and Bengio did not take the dot product of query and key. They add the
# two, each after a matrix of its own, squash the sum with a tanh, and weigh its entries
# with a vector v. This is called **additive attention**. Compute one score with a
# pencil, with both matrices the identity and v = (1, 1): the query is (1, 0) and the
# first key (1, 0), so their sum is (2, 0), and the score is tanh 2 + tanh 0 = 0.964.
# The other keys are (−1, 0) and (0, 2). Which of the three gets the largest weight?

# %% tags=["nbval-check-output"] slide="fragment"
asked = torch.tensor([1.0, 0.0])  # (D=2)
memory_by_hand = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]])  # (S=3, D)
together = asked + memory_by_hand  # (S, D)
by_hand = together.tanh() @ torch.ones(2)  # (S)
show("query + key", together, digits=1)
show("scores ", by_hand)
show("weights", by_hand.softmax(-1))

# %% [markdown] slide="skip"
# The third key wins, although it has nothing in common with the query. A sum does not
# measure how similar two vectors are, as a dot product does; what fits has to be
# learned by W_q, W_k and v.

# %% [markdown] exercise="8.D" slide="subslide"
# Write it for a batch, for all queries at once. Each query meets each key, so somewhere
# in between there is a tensor with **four** axes: batch, query, key, d_model.

# %% [markdown] slide="notes"
# **4 minutes.** Ask: queries (B, T, D), keys (B, S, D). How do you add every query to
# every key without a loop?
#
# Expect: "broadcasting". Then the question where each gets its axis of length 1.
#
# Say: four axes, and D is one of them. That is the price of this attention: its largest
# tensor is D times as large as the scores.


# %% exercise="8.D"
class AdditiveAttention(nn.Module):
    """Attention whose scores come from a small network.

    Layers without bias: W_q (queries) and W_k (memory), D to D, and v, D to 1.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, 1, bias=False)
        ### END SOLUTION

    def forward(
        self, query: Tensor, memory: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Mix memory (B, S, D), keys and values at once, for each query (B, T, D).

        Where mask is True, boolean and broadcastable to (B, T, S), one may attend.

        Returns:
            output (B, T, D), weights (B, T, S)
        """
        ### BEGIN SOLUTION
        #: pairs = ...  # (B, T, S, D)
        #: scores = ...  # (B, T, S)
        #: weights = ...  # (B, T, S)
        pairs = self.W_q(query).unsqueeze(2) + self.W_k(memory).unsqueeze(1)
        scores = self.v(torch.tanh(pairs))[..., 0]  # (B, T, S)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return weights @ memory, weights
        ### END SOLUTION


# %%
check("8.D", AdditiveAttention)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# The queries have the shape (B, T, D), the keys (B, S, D). Where does each need one
# more axis of length 1, so that their sum has four?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `unsqueeze(n)`, or indexing with `None`, makes such an axis. `v` leaves an axis of
# length 1 at the end, which has to go.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# transform queries and memory; add every query to every key; tanh; score with v; block
# where the mask is False; softmax over the keys; mix the memory.
# </details>

# %% slide="skip"
mixed, weights = AdditiveAttention(4)(torch.randn(1, 2, 4), torch.randn(1, 3, 4))
show("weights of two queries", weights)

# %% [markdown] slide="skip"
# What is the tanh good for? Leave it out, and v distributes over the sum: each score is
# one number that comes from the query plus one that comes from the key. The number of
# the query is then the same for all keys, and a softmax does not change if you add the
# same number to all scores. So what would the weights of two different queries look
# like? Decide, then run the cell.

# %% tags=["nbval-check-output"] slide="skip"
from_keys = torch.tensor([[0.5, -1.0, 0.2]])  # (1, S=3): what the keys bring
for name, from_query in (("one query", 0.3), ("another", -2.0)):
    show(f"{name:9} without tanh", (from_query + from_keys).softmax(-1))

# %% [markdown] slide="skip"
# They are equal: without the tanh it does not matter who asks.

# %% [markdown] slide="slide"
# ## A decoder that looks back
#
# Before word t is written, the state that has written word t − 1 asks the memory. What
# it finds goes into the cell **together with** the word.

# %% [markdown] slide="notes"
# **2 minutes.** Say: the same two chains, and now the red lines. 8.E is this loop, in
# the lab.
#
# Ask: the state after *drei* asks. Could it ask before *drei* is read?
#
# Expect: "no". That is why nothing here can be computed in parallel.
#
# Say: hold on to that thought, it is what the Transformer got rid of.

# %% slide="fragment"
show_figure(
    draw.encoder_decoder(
        ["three", "hundred", "and", "forty", "-", "two"],
        ["start", "drei", "hundert", "zwei", "und", "vierzig"],
        looks_back=True,
    ),
    "The same two chains of states. From each of the six blue states of the memory, "
    "(B, S, D), a red line leads to the green state that comes next: its weights, "
    "(B, 1, S), mix the memory into one vector, (B, 1, D), for this one word.",
)

# %% [markdown] slide="skip"
# So the loop that training a plain decoder did not need is back. `nn.GRU` can't take
# this over, because its inputs are not all known when it starts: what the third word
# finds depends on the state after the second. You therefore need `nn.GRUCell`, one step
# of a GRU, and a loop over the words. The next cell prints whose parts will run inside
# your decoder.

# %% locked=true slide="skip"
mine = OwnParts()
mine.take("8.A", Encoder)
mine.take("8.D", AdditiveAttention)

# %% [markdown] exercise="8.E"
# Write the loop over the words. `attention` is `mine.AdditiveAttention`, of width D.
# `cell` is an `nn.GRUCell`: input and state in, new state out. Its input, 2 D wide, is
# the word, then what the attention found. Score every state with `final_layer`, and
# keep the weights of every query.


# %% exercise="8.E"
class AttentionDecoder(nn.Module):
    """Looks back into the memory before each word."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.final_layer = nn.Linear(d_model, vocab_size)
        ### BEGIN SOLUTION
        self.attention = mine.AdditiveAttention(d_model)
        self.cell = nn.GRUCell(2 * d_model, d_model)
        ### END SOLUTION

    def forward(self, target, memory, context, mask=None) -> tuple[Tensor, Tensor]:
        """Score the next word at every place, given the true ones before it.

        Args:
            target: (B, T), token ids, the start token first
            memory: (B, S, D), the encoder's states
            context: (B, D), the state before the first word
            mask: boolean, True = may attend, broadcastable to (B, T=1, S)

        Returns:
            logits (B, T, V), weights (B, T, S)
        """
        ### BEGIN SOLUTION
        #: state = ...  # (B, D), the one that asks
        #: states = ...  # one (B, D) for each word
        #: looks = ...  # one (B, T=1, S) for each word
        state, states, looks = context, [], []
        for word in self.embedding(target).unbind(1):  # (B, D)
            found, weights = self.attention(state.unsqueeze(1), memory, mask)
            state = self.cell(torch.cat([word, found.squeeze(1)], dim=1), state)
            states.append(state)
            looks.append(weights)
        return self.final_layer(torch.stack(states, dim=1)), torch.cat(looks, dim=1)
        ### END SOLUTION


# %%
check("8.E", AttentionDecoder)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# In one turn of the loop there are three things: the word, the state, the memory. Who
# asks whom, and what does the cell get?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The attention wants queries (B, T, D). One state is (B, D): T is 1, and that axis has
# to come and go.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# the state is the context; for each word: ask the memory with the state; join word and
# answer; cell; keep state and weights. Stack what you kept along the time axis.
# </details>

# %% slide="skip"
logits, looks = AttentionDecoder(11, 4)(
    torch.tensor([[1, 5, 6]]), torch.randn(1, 4, 4), torch.zeros(1, 4)
)
show("one row of weights per word", looks)

# %% [markdown] slide="slide"
# ## Width times length
#
# So more width is one repair. Is the look back another? Same data, same steps, the
# same 16 numbers.

# %% [markdown] slide="notes"
# **3 minutes.** Ask, before you press: with a look back, how much of the left map's
# pale row turns dark?
#
# Expect: "most of it". All of it.
#
# Say: read the pale row from left to right: the longer a number, the fewer are right.
# Two things help in this table, more width and a look back. With the second one the
# memory grows with the sentence.

# %% [markdown] slide="skip"
# With attention the decoder need not carry the whole number in its state. So even 16
# numbers might do, as many as the translator had that failed. Here is the share of
# right translations over the width of the state and the length of the number, after the
# longest training of the table above, and after as many steps with a look back. Which
# fields do you expect to be pale?

# %% tags=["nbval-check-output"] slide="fragment"
for name, share in {
    "width 16 without attention, 2,000 steps": bottleneck.WITHOUT[16][2000],
    "width 64 without attention, 1,000 steps": bottleneck.WITHOUT[64][1000],
    "width 16 with attention, 2,000 steps": bottleneck.WITH[16][2000],
}.items():
    print(f"{name}: {share:.1%} right")
show_figure(
    draw.width_by_length(bottleneck.BY_DIGITS, bottleneck.DIGITS),
    "Two maps of the share of right translations, widths as rows and numbers of digits "
    "as columns. Without attention the row of width 16 is pale, the more so the longer "
    "the number, and the row of width 64 is dark. With attention width 16 is dark at "
    "every length.",
)

# %% [markdown] slide="skip"
# With the look back nearly every number is right, whatever its length, although the
# state is as narrow as before and learns from the same pairs for as many steps. (They
# are equal steps, not equal costs: it has more weights, and a step of its training took
# nearly twice as long.) Without it few are right even of the shortest numbers, and the
# longer the number, the fewer. Width helps, too, as the row of 64 shows, but that is
# chosen once, whatever sentence will come. With the look back the memory grows with
# the sentence. Whether a network also uses it well for sentences longer than all that
# it has learned from is another question, which we did not measure.

# %% [markdown] slide="slide"
# ## A translator of your own parts
#
# Numbers were the laboratory. Your own parts learn the little language of lesson 06:
# *The animal did not cross the street because it was too tired.*

# %% [markdown] slide="notes"
# **3 minutes.** Say: the same sentences as in lesson 06, 700 steps, a network of 2014.
#
# Ask, before you press: what will be wrong most often: words, their order, or the
# pronoun?
#
# Expect: "the order". Look at the mistakes that are printed: pronouns and endings.
#
# Say: it is not as good as your Transformer after 900 steps. We have not tried to find
# out why; it also has one layer instead of two.

# %% [markdown] slide="skip"
# The encoder, the attention and the decoder are yours if their checks have passed. The
# class below only joins them. `sentences.teach` is the training loop of lesson 06, with
# its batches, its loss and its schedule; read it with `sentences.teach??`. Before you
# run the cells, think of the German word order: *weil es zu müde **war***. The verb
# stands at the end of the clause, so the decoder has to find *was* after it has used
# *tired*. What do you expect after 700 steps: which of the three sentences are right?


# %% locked=true slide="skip"
def one_step(part) -> None:
    """What a step of training does with an encoder or a decoder."""
    ids, memory = torch.arange(3, 643).view(64, 10), torch.randn(64, 10, 64)
    inputs = (
        (ids,) if part.__name__.endswith("Encoder") else (ids, memory, memory[:, 0])
    )
    part(700, 64)(*inputs)[0].sum().backward()


mine.take("8.A", Encoder, step=one_step)
mine.take("8.E", AttentionDecoder, step=one_step)


class Translator(nn.Module):
    """Your parts, called as lesson 06 calls its Transformer."""

    def __init__(self, source_size: int, target_size: int, d_model: int) -> None:
        super().__init__()
        self.encoder = mine.Encoder(source_size, d_model)
        self.decoder = mine.AttentionDecoder(target_size, d_model)

    def encode(self, source, source_mask=None):
        """(B, S) -> memory (B, S, D) and context (B, D)."""
        return self.encoder(source)

    def decode(self, target, encoded, target_mask=None, source_mask=None):
        """(B, T) and what `encode` gave -> logits (B, T, V)."""
        return self.decoder(target, *encoded, source_mask[:, 0])[0]

    def forward(self, source, target, source_mask, target_mask):
        """Both, as in training."""
        return self.decode(target, self.encode(source), None, source_mask)


# %% slide="skip"
language = sentences.language_task("de", "core")
_ = torch.manual_seed(8)
own = Translator(len(language.source), len(language.target), d_model=64)
history = sentences.teach(own, language, steps=700, seed=8, peak=0.01)
print(mine)


# %% slide="skip"
@torch.no_grad()
def translate(sentence: str) -> tuple[str, Tensor]:
    """What your translator writes, and where it looked: (T, S)."""
    source = torch.tensor([language.source.encode(sentence)])  # (B=1, S)
    real = padding_mask(source)
    written = greedy_decode(own, source, real, START, END, sentences.LONGEST)
    _, looks = own.decoder(written[:, :-1], *own.encode(source), real[:, 0])
    return language.target.decode(written[0]), looks[0]


# %% slide="fragment"
for sentence in (
    "The animal did not cross the street because it was too tired.",
    "The animal did not cross the street because it was too wide.",
    "The king has helped the young woman.",
):
    print(sentence, "→", translate(sentence)[0])
some = language.held_out[:200]
found = sentences.translate(own, language, some)
print(f"right in every word: {sentences.exact(some, found):.0%} of {len(some)}")
for pair, text in list(zip(some, found, strict=True))[:25]:
    if text != pair.target:
        print(f"{pair.source}\n  {text}\n  not: {pair.target}")
assert sentences.exact(some, found) > 0.6

# %% [markdown] slide="skip"
# Type a sentence of your own into the next cell. The translator knows the words that it
# was trained on, animals, people and what they do; `lookup` names a word that it lacks,
# and the closest ones that there are.

# %% slide="skip"
typed = "the old dog hasn't eaten the bread because it was too dry"
try:
    print(translate(lookup(typed, language.source).text)[0])
except UnknownWords as error:
    print(error)

# %% [markdown] slide="slide"
# ## Words that cross over
#
# *The animal **has not crossed** the street because it **was** too tired.* In German
# both verbs move to the end of their clause: *Das Tier hat die Straße nicht
# **überquert**, weil es zu müde **war**.*

# %% [markdown] slide="notes"
# **3 minutes.** Ask: a row for each German word, a column for each English one. Draw in
# the air what it would look like if the word order were the same.
#
# Expect: the diagonal. And now with both verbs at the end?
#
# Say: read the rows of *müde* and of *war*: they cross. *crossed* is found one row too
# early. Nobody told it which words belong together: only whole sentences were given.

# %% [markdown] slide="skip"
# Bahdanau and his colleagues drew a table for each sentence: a row for each word that
# is written, a column for each word that is read, and in the fields the weights. They
# called it the **alignment**, which in machine translation says which word goes with
# which. If German had the word order of English, the dark fields would form a diagonal.
# Where do you expect them for *überquert* and for *war*? Sketch the table before you
# run the cell.

# %% slide="fragment"
crossing = "The animal has not crossed the street because it was too tired."
text, looks = translate(crossing)
read, said = ["start", *parted(crossing), "end"], [*parted(text), "end"]
show_figure(
    draw.alignments({"your translator": looks}, said[: len(looks)], read, numbers=True),
    "An alignment map with a row for each German word that your translator wrote and "
    "a column for each English word. Most dark fields lie near the diagonal.",
)

# %% slide="skip"
for word, key in (("überquert", "crossed"), ("müde", "tired"), ("war", "was")):
    if word in said:
        row = looks[said.index(word)]
        most = read[row.argmax()]
        share = row[read.index(key)].item()
        print(f"{word:10} looks at {key} with {share:.2f}, most at {most}")

# %% [markdown] slide="skip"
# Is it what you drew? In the run that made this page *müde* looks at *tired* and at
# hardly anything else, and the next row, *war*, goes back to *was*, which stands before
# *tired*: there the rows cross. But *war* gives even more weight to *too*. And
# *crossed* is looked at one row too early, as *nicht* is written, while *überquert*
# itself spreads its weight. One reason may be that in a recurrent memory the state at a
# place has read its word **and** all the words before it, so that a later place can
# serve as well. (Bahdanau's encoder reads in both directions, and each of its states
# has read the whole sentence; yours reads in one.) Look at the pronoun, too: it is
# wrong here, though it was right in the sentence without *has*. And remember lessons 05
# and 06: a map shows where a step looks, and not what it needs there.

# %% [markdown] slide="slide"
# ## What it costs
#
# Attention made the recurrent network better. Why did the Transformer throw the
# recurrence away?

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: twice as many words. How much longer is the
# chain of operations that wait for each other, in each of the three?
#
# Expect: "twice" for the recurrent ones, and for the Transformer as well. It is the
# same: 112 at every length.
#
# Say: not to wait is not the same as not to work.

# %% [markdown] slide="skip"
# Some operations have to wait for others: the state after the tenth word can't be
# computed before the state after the ninth. Autograd keeps a graph of all operations of
# a forward pass, so you can count the longest chain in it, from the logits back to a
# weight. Three untrained translators of width 64 read and write sentences of 8, 16, 32
# and 64 words. By how much will the chain of each grow from one length to the next?

# %% tags=["nbval-check-output"] slide="fragment"
untrained = {kind: seq2seq.new_translator(kind, numbers) for kind in seq2seq.KINDS}
lengths = (8, 16, 32, 64)
chains = {
    kind: [seq2seq.waiting(model, length) for length in lengths]
    for kind, model in untrained.items()
}
for kind, counts in chains.items():
    print(f"{kind:18}", *(f"{count:5}" for count in counts), "  at lengths", lengths)

# %% [markdown] slide="subslide"
# A chain is not a clock. How long does one step of training take, on one thread of your
# processor? Before you run the cell: which of the three is the slowest at 8 words, and
# which at 64?

# %% slide="fragment"
seconds = {
    kind: [seq2seq.seconds_per_step(model, length) for length in lengths]
    for kind, model in untrained.items()
}
for kind, taken in seconds.items():
    print(f"{kind:18}", *(f"{1000 * one:6.1f} ms" for one in taken))
show_figure(
    draw.costs(lengths, chains, seconds),
    "Two plots against length. Left, the longest chain: two rising lines for the "
    "recurrent models, a flat one for the Transformer. Right, the time of a step of "
    "training, which rises for all three.",
)
assert sum(seconds["RNN"]) < sum(seconds["RNN with attention"])

# %% [markdown] slide="notes"
# **2 minutes.** Ask: which of the three is the fastest here?
#
# Expect: "the Transformer". The plain RNN takes less time than the one with attention;
# read aloud where the Transformer comes in.
#
# Say: on one thread everything stands in line anyway, so a short chain saves nothing.
# It pays on hardware that does thousands of things at once. That was not measured.

# %% [markdown] slide="skip"
# On one thread operations run one after the other anyway, and what counts is how many
# there are and how large. The plain RNN, which has less to do, is faster than the RNN
# with attention. The Transformer has the shortest chain and two layers to compute, and
# you can read off your own clock what is left of its advantage here. A short chain pays
# on hardware that does thousands of operations at once, because a long one leaves
# most of it with nothing to do. We could not measure that for this lesson. If you
# have such a machine, move the models and the batches of `seq2seq.random_batch`
# there, and see.

# %% [markdown] slide="slide"
# ## Going further
#
# From here on everything is optional: a bug from the wild, a score for each length, a
# translator for French numbers and its funniest mistake, and how far apart two words
# are.

# %% [markdown] slide="slide"
# ### Bugs from the wild: an evenly dark map
#
# A softmax was written for tables of two axes, query and key. Later it was put into a
# decoder that asks one question at a time.

# %% [markdown] exercise="8.F"
# Read the code and **predict**: to what do the five weights of the question add up?
# Answer before you run the cell below the hints.


# %% locked=true
def older_softmax(scores: Tensor) -> Tensor:
    """Once (T, S): axis 0 the queries, axis 1 the keys. Now (B, T, S)."""
    return scores.softmax(dim=1)


def ask_once() -> Tensor:
    """Two sentences, one question, five places to look at: (B=2, T=1, S=5)."""
    draws = torch.Generator().manual_seed(3)
    return older_softmax(torch.randn(2, 1, 5, generator=draws))


# %% exercise="8.F"
### BEGIN SOLUTION
sum_of_the_weights = 5  # one question shares with nobody: every weight is 1
### END SOLUTION

# %%
check("8.F", sum_of_the_weights)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which axis of (B, T, S) is axis 1, and how long is it here?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# What is the softmax of a single number?
# </details>

# %% tags=["nbval-check-output"] slide="skip"
show("weights", ask_once())

# %% [markdown] slide="skip"
# So every weight is 1: the decoder gets the plain sum of all states, the same before
# every word, and a map of it is evenly dark. There is no error and no odd shape, and
# the loss can still fall, because a sum of the states says something about the
# sentence. And if all words ask at once, as in training with `nn.GRU`, such a softmax
# runs over the words and lets each of them know about the later ones. One line finds
# it: each row of weights must add up to 1.

# %% [markdown] slide="slide"
# ### The score of each length

# %% [markdown] exercise="8.G"
# One score for all numbers hides which of them fail. Write the exact match of each
# length: a dictionary from the length to the share of its texts that are right in every
# character, capitals and spaces included.


# %% exercise="8.G"
def match_by_length(
    texts: list[str], expected: list[str], lengths: list[int]
) -> dict[int, float]:
    """The exact match of each length that occurs.

    Args:
        texts: what was written
        expected: what is right, in the same order
        lengths: the length of each translation, in the same order

    Returns:
        length -> share of its texts that are right, from 0 to 1
    """
    ### BEGIN SOLUTION
    #: shares = {}
    shares = {}
    for length in set(lengths):
        some = [place for place, its in enumerate(lengths) if its == length]
        hits = sum(texts[place] == expected[place] for place in some)
        shares[length] = hits / len(some)
    return shares
    ### END SOLUTION


# %%
check("8.G", match_by_length)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# By which number do you divide the hits of one length?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Go through the three lists together, and keep two counts per length.
# </details>

# %%
print(match_by_length(["elf", "drei"], ["elf", "zwei"], [1, 1]))

# %% [markdown]
# Use it on the two translators from the beginning, with the number of digits as the
# length. What is left of the one without attention for the longest numbers?

# %%
digits = [len(str(pair.number)) for pair in numbers.held_out]
right = [pair.target for pair in numbers.held_out]
for kind, some in texts.items():
    shares = match_by_length(some, right, digits)
    print(f"{kind:18}", *(f"{n}: {shares[n]:4.0%} " for n in sorted(shares)))

# %% [markdown] slide="slide"
# ### *Quatre mille*
#
# France has no word of its own for eighty: it says *quatre-vingts*, four twenties, and
# for ninety *quatre-vingt-dix*. What will a translator make of that?

# %% [markdown]
# The same parts of yours, with 64 numbers per word, learn French number words, 300
# steps. Choose another language if you like: `"nl"` (Dutch), or another code of
# `num2words`, such as `"es"`, `"it"`, `"da"` or `"tr"`. We tried French and Dutch.
# Before you look at its mistakes: where would **you** make them?

# %%
code = "fr"
second = seq2seq.long_number_task("en", code)
_ = torch.manual_seed(9)
french = Translator(len(second.source), len(second.target), d_model=64)
history = seq2seq.teach(french, second, steps=300, seed=9, name=code)
french_texts = seq2seq.translate(french, second, second.held_out)
share = exact_match(second.held_out, french_texts)
print(f"{share:.1%} of {len(french_texts)} numbers are right")
for pair, text in misses(second, french_texts)[:6]:
    print(f"{pair.number:,}\n  written {text}\n  not     {pair.target}")
assert share > 0.9

# %% [markdown]
# Did you find a mistake? In the run that made this page there is none. But one of our
# trainings, which ended at 99.6 %, wrote *quatre mille sept cent huit* for 80,708: of
# *quatre-vingt mille* it lost the *vingt*, and eighty thousand became four. It read
# *eighty*, and it began as it should, with *quatre*. Nothing in the score says that
# this mistake is worse than a wrong last digit; on a cheque you would notice. If you
# would like to look for one like it, take fewer steps, 150 for instance, and read the
# numbers from 80,000 on. Where does the translator look while it writes such a number?

# %%
pair = max(second.held_out, key=lambda pair: (pair.number // 1000 == 80, pair.number))
source = second.sources([pair])
real = padding_mask(source)
with torch.no_grad():
    written = greedy_decode(french, source, real, START, END, seq2seq.LONGEST)
    _, looks = french.decoder(written[:, :-1], *french.encode(source), real[:, 0])
print(f"{pair.number:,}: {second.texts(written)[0]}")
read = ["start", *second.source.tokens(pair.source), "end"]
said = [second.target.decode([one]) or "end" for one in written[0, 1:].tolist()]
show_figure(
    draw.alignments({f"{pair.number:,}, {code}": looks[0]}, said, read),
    "Where your decoder looked while it wrote a number between 80,000 and 81,000: a "
    "row for each piece that it wrote, a column for each piece that it read.",
)

# %% [markdown] slide="slide"
# ### How far apart are two words?
#
# What the last word needs to know from the first has to travel. A recurrence hands it
# on from place to place, with attention everybody reads everybody, and a window of a
# few neighbours lies in between.

# %% tags=["nbval-check-output"]
place = torch.arange(9)
behind = place[:, None] - place  # (T, S): how far the read lies behind the reader
who_reads = {
    "recurrence": (behind >= 0) & (behind <= 1),
    "window of 2": behind.abs() <= 2,
    "attention": behind.abs() <= 9,
}
for name, reads in who_reads.items():
    steps, scored = seq2seq.path_length(reads), int(reads.sum())
    print(f"{name:12} {steps} steps from first to last, {scored:2} pairs to compute")

# %%
show_figure(
    draw.who_reads_whom(who_reads),
    "Three tables of nine places, a dot where one reads another in one step: in the "
    "recurrence itself and the place before, in the window two on each side, with "
    "attention all.",
)

# %% [markdown] exercise="8.H"
# Write the count: in one step, place t learns what each place s knows for which
# `reads[t, s]` is True. After how many steps does the last place know what the first
# one knew?


# %% exercise="8.H"
def path_length(reads: Tensor) -> int:
    """The fewest steps from the first place to the last.

    Args:
        reads: (T, T), boolean: place t (row) reads place s (column)

    Returns:
        The number of steps; 0 for a single place. There always is a way.
    """
    ### BEGIN SOLUTION
    #: informed = ...  # (T), who knows by now
    #: steps = 0
    informed = torch.zeros(len(reads), dtype=torch.bool)
    informed[0] = True
    steps = 0
    while not informed[-1]:
        heard = (reads & informed[None, :]).any(dim=1)
        informed, steps = informed | heard, steps + 1
    return steps
    ### END SOLUTION


# %%
check("8.H", path_length)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Before the first step one place knows. Who knows after it?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Keep a boolean for each place. A row of the table and that list, combined with `&`,
# say from whom a place learns.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# only the first place knows; until the last one knows: everybody who reads somebody who
# knows, knows as well; one step more.
# </details>

# %%
for length in (4, 16, 64):
    near = (torch.arange(length)[:, None] - torch.arange(length)).abs() <= 2
    print(f"a window of 2, {length:2} places: {path_length(near)} steps")

# %% [markdown] exercise="8.J"
# A blog post praises self-attention: the number of steps between two inputs is
# constant, however far apart they are. **What does it leave out?** Name the price, with
# a number from this lesson or lesson 02, and a case in which you would not pay it.
# Write five or six sentences.

# %% [markdown] answer="8.J"
# ### BEGIN SOLUTION
# **Model answer.** The path is short because every place reads every other, and so
# each layer computes a score for every pair. In the table above nine places need 81
# pairs with attention, 17 in the recurrence. The number grows with the square of the
# length: twice the text, four times the scores. Lesson 02 measured that time and
# memory follow, memory first. So a short path is bought, not given. A recurrence keeps
# one state of fixed size, whatever it has read: for an endless stream, or on a small
# device, that is what I want. A window lies between: fewer pairs, a few more steps,
# and several layers in a row still reach far. On one thread the comparison above
# need not show a gain in time for short texts.
#
# **Rubric (3 points).** 1: names the scores of all pairs, the square of the length. 1:
# a number from a measurement. 1: a case with its reason (streams, very long texts, a
# small device, short texts on one thread), or a compromise such as a window.
# ### END SOLUTION

# %% [markdown] slide="slide"
# ## What you can do now
#
# You can build an encoder-decoder of recurrent networks and take its context where a
# sentence really ends. You can write additive attention and a decoder that looks back
# before each word, and you have seen what the look back buys: a narrow network that
# translates long numbers. You know how to ask whether a model lacks room or training,
# and when the honest answer is that you can't tell yet. You can read an alignment in
# which words cross, and you know what the Transformer changed: while it learns, no word
# has to wait for the one before.
#
# That was the way to the Transformer. Next, in lesson 09, half of one reads a lot of
# text, and then learns to judge reviews.

# %% [markdown] slide="notes"
# **1 minute.** Ask: a colleague says that a model of twice the width is better. What do
# you ask back?
#
# Expect: "how long did you train the other one?"
#
# Say: and whether it had stopped getting better. Then take their questions.

# %% [markdown] slide="skip"
# **References.** Sutskever, Vinyals and Le 2014, *Sequence to Sequence Learning with
# Neural Networks* (arXiv 1409.3215). Cho et al. 2014, for the encoder-decoder and the
# GRU (arXiv 1406.1078), and for how it decays with length (arXiv 1409.1259). Bahdanau,
# Cho and Bengio 2014, *Neural Machine Translation by Jointly Learning to Align and
# Translate* (arXiv 1409.0473). Luong et al. 2015, on attention by dot products (arXiv
# 1508.04025). Vaswani et al. 2017 (arXiv 1706.03762), table 1, for path lengths and
# sequential operations.
