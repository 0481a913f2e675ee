# %% [markdown] slide="slide"
# # 10 GPT from scratch: a decoder learns to tell stories
#
# **What is left of the Transformer when there is nothing to translate?**
#
# You need: lessons 04 to 07. Time: {minutes}. Run in one go, the notebook takes
# {run time} on one core, most of it for training.

# %% [markdown] slide="notes"
# **1 minute.** Say: so far somebody always gave us the answer, a translation or a
# label. Today there is only text.
#
# Ask: what can a model learn from a text that nobody has marked up?
#
# Expect: "grammar", "which words go together". Nobody says "the next word", and that
# is all it will be asked for.

# %% [markdown] slide="slide"
# ## A beginning, and what comes next
#
# > Once there was a little bear who
#
# What comes next? Say a word aloud, then the one after it, and go on like this until
# the sentence is over.

# %% [markdown] slide="notes"
# **3 minutes.** Say: read the beginning aloud; let one person say a word, the next
# person the next one, until somebody says "full stop".
#
# Ask: who knew the end of the sentence when it began?
#
# Expect: nobody. Then run the cell, with a beginning that the class has shouted.
#
# Say: the model has no plan either. It answers the same small question again and again,
# and by the end of the lesson it runs on code that you have written.

# %% [markdown] slide="skip"
# You have just done what a language model does. You had no plan for the whole sentence;
# you looked at what was there, chose a word that could follow, and then looked again,
# at a text that was now longer by one word. The program below works in the same way. It
# is a **GPT**, a *generative pretrained Transformer*: a decoder without an encoder,
# whose 2.5 million numbers were learned from made-up stories for children. Before you
# run it, guess: will it still know, three sentences later, whom the story is about? It
# tells two stories from one beginning. Run it, and then put a beginning of your own in
# place of ours.

# %% slide="skip"
import copy
import math
import time
from functools import partial
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
from helpers.experiments.first_look import continued
from helpers.experiments.writing import fill
from helpers.figures import gpt as draw
from helpers.figures import show_figure
from helpers.models import gpt as course
from helpers.models.attention import attention
from helpers.models.layers import FeedForward
from helpers.models.multi_head import merge_heads, split_heads
from helpers.models.recurrent import CharacterModel
from helpers.models.transformer import DecoderLayer
from helpers.student.own_parts import OwnParts
from helpers.text.characters import Characters

_ = torch.manual_seed(10)

# %%
beginning = "Once there was a little bear who"
for number in (1, 2):
    print(f"{number}: {continued(beginning, draw=number)}\n")

# %% [markdown] slide="skip"
# One story is better than another, and now and then the thread is lost: can you still
# tell who the bear is? But the sentences hold together, and one thing leads to another.
# In this lesson you build that model, from the attention of lesson 03 up to the last
# logit. You train a small one, and watch what it writes on the way. Then your own
# classes take over the weights of the model above, the **storyteller**, agree with the
# library's logits to within 0.0001, and go on with your beginning.

# %% [markdown] slide="skip"
# At the end of this lesson you can
#
# - build a GPT, and load the weights of a trained GPT-2 into it;
# - say what the shift in its loss does, and what happens without it;
# - cut a text into byte pairs;
# - write with a cache, and measure where attention beats recurrence and where not.

# %% [markdown] slide="slide"
# ## A text asks its own questions
#
# A translator learns from pairs that somebody had to write. To learn to write, a text
# alone is enough: hide what comes next, and ask for it.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: our sentence has twelve words. How many questions does it ask, if
# each word is to be guessed from all words before it?
#
# Expect: "twelve", "eleven". The first word has nothing before it.
#
# Say: this is causal language modelling. BERT hides words in the middle and looks at
# both sides; GPT sees the left side alone, and that is why it can write.

# %% tags=["nbval-check-output"]
words = "The animal did not cross the street because it was too tired".split()
for place in (1, 2, 6, 11):
    print(*words[:place], "→", words[place])

# %% [markdown] slide="skip"
# Every place in a text is a question, and its answer comes right after it, so nobody
# has to label anything. This is **causal language modelling**: each token is predicted
# from those before it, and never from those after it. The second question above is a
# matter of grammar. For the last one it helps to know something about animals and
# streets, although nobody asks for that knowledge, only for the next word. How much a
# model learns about the world because it has to guess well is a question that people
# still argue about.
#
# How well can one guess with no understanding at all? Take the sonnets of lesson 07,
# letter by letter, look only at the last character, and count what comes after it. We
# measure **bits per character** on held-out sonnets, the mean of $-\log_2 p$ of the
# right answer; less is better. A guess with no idea costs 5.93 bits. How many will
# counting save? Guess first.

# %% tags=["nbval-check-output", "contest"] slide="skip"
train_text, held_out_text = split_text(load_text())
characters = Characters.of(load_text())
ids, held_out = characters.encode(train_text), characters.encode(held_out_text)
counts = torch.ones(len(characters), len(characters))  # 1, so that none is impossible
counts.index_put_((ids[:-1], ids[1:]), torch.tensor(1.0), accumulate=True)
chances = counts / counts.sum(1, keepdim=True)  # (last, next)
pair_bits = -chances[held_out[:-1], held_out[1:]].log2().mean().item()

print(f"{len(train_text) - 1:,} questions about {len(characters)} characters")
show("bits without any idea", math.log2(len(characters)), digits=2)
show("bits by counting pairs", pair_bits, digits=2)

# %% [markdown] slide="skip"
# These two numbers are the yardstick for what follows. A model that needs more than the
# second has not even learned to count pairs.

# %% [markdown] slide="slide"
# ## The block
#
# $$x \leftarrow x + \mathrm{Attention}(\mathrm{norm}_1(x)) \qquad
# x \leftarrow x + \mathrm{FFN}(\mathrm{norm}_2(x))$$
#
# This is a decoder layer without cross-attention, in pre-norm.

# %% [markdown] slide="notes"
# **3 minutes.** Say: take lesson 05's decoder layer. There is no source any more.
#
# Ask: which parts have nothing to do now? And what is the little black and white square
# above the attention?
#
# Expect: cross-attention goes, its norm is forgotten. The square is the causal mask of
# lesson 06: the white fields may be looked at.
#
# Say: the thick line is the residual stream. Attention looks back, the feed-forward
# thinks, and each adds what it found.

# %%
show_figure(
    draw.block(),
    "A thick line, x of shape (B, T, D), runs from left to right. The first sublayer "
    "reads it through norm 1; multi-head attention, under a causal mask of shape "
    "(T, T) that is open on and below its diagonal, then dropout, and its output is "
    "added to the line. The second reads through norm 2: feed-forward, dropout, added.",
)

# %% [markdown] slide="skip"
# Take the decoder layer of lesson 05 and ask what it still needs. There is no source,
# so cross-attention has nothing to look at, and you can remove it and its norm. What is
# left is the encoder layer of lesson 04, in the order that GPT-2 uses (each norm stands
# before its sublayer, off the residual stream), under the **causal mask** of lesson 06.
# No token may ever see a later one, in training or in use, so a GPT block makes its own
# mask.

# %% [markdown] exercise="10.A" slide="subslide"
# Build it, from your own parts if they have passed their checks:
# `mine.MultiHeadAttention` takes (query, key, value, mask) and returns one tensor, and
# `mine.look_ahead_mask(length)` is boolean. If you write another attention, let it be
# called in the same way, because the check calls it. Apply dropout to what each
# sublayer adds.

# %% [markdown] slide="notes"
# **5 minutes.** Say: you dictate, I type, with the picture beside it.
#
# Ask: how many norms, and what does each of them read? Where does the mask get its
# length from?
#
# Expect: a residual that is taken after the norm instead of before it. Type it, let the
# check talk, and follow the thick line again.
#
# Say: two lines of it you have written before, in lesson 04.

# %% locked=true slide="skip"
mine = OwnParts()
mine.take("3.C")
mine.take("6.B")


# %% exercise="10.A"
class GPTBlock(nn.Module):
    """Look back, then think; dropout is the share of what each sublayer adds."""

    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.feed_forward = FeedForward(d_model, d_ff, "gelu_tanh")  # GPT-2's GELU
        # Beside these: attention, norm1 for it, norm2 for the feed-forward.
        ### BEGIN SOLUTION
        self.attention = mine.MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D): every token knows itself and those before it."""
        ### BEGIN SOLUTION
        y = self.norm1(x)
        mask = mine.look_ahead_mask(x.shape[1])  # (T, T)
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
# Queries, keys and values all come from the same normalised vectors. `x.shape[1]` is
# the number of tokens.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# normalise; attend to yourself under the mask; drop out; add to what came in.
# Normalise that; feed forward; drop out; add.
# </details>

# %% [markdown] slide="skip"
# Does your block keep the future out? Replace the fourth of five tokens, the one at
# place 3, and see where the output changes. Which places will notice?

# %% slide="skip"
x = torch.randn(2, 5, 12)  # (B, T, D)
block = GPTBlock(12, 3, 48)
changed = x.clone()
changed[:, 3] = torch.randn(12)  # another token at place 3
moved = (block(changed) - block(x)).abs().amax((0, 2))  # (T)
print("places that notice:", (moved > 1e-6).tolist())

# %% [markdown] slide="slide"
# ## One table for two jobs
#
# Ids become vectors by looking up rows of a table. At the end a vector has to become a
# score for each token, and GPT-2 takes **the same table** again: the score of a token
# is the dot product of the vector with that token's row.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: take a pencil. What are the three scores, and which token comes
# next?
#
# Expect: 0.5, 2 and 1.5 after a moment; some multiply with the columns.
#
# Say: token 1 has the highest score. These three numbers are logits, as everywhere in
# the course; what one does with them is the subject of lesson 11.

# %% tags=["nbval-check-output"] slide="fragment"
table = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])  # (V=3, D=2)
last = torch.tensor([0.5, 1.0])  # what the blocks made of the text, (D)
show("scores", table @ last)

# %% [markdown] slide="skip"
# Such a table is called a **tied embedding**. It is trained from both ends: as the
# first layer, it says what a token means, and as the last, when a token is likely to
# come.

# %% slide="subslide"
show_figure(
    draw.model(),
    "From left to right: ids (B, T); the row of the token table, (B, T, D); a learned "
    "row of the position, (T, D), is added; then dropout; then block 1, block 2 and so "
    "on to block N on one thick line; a norm; the product with the transposed token "
    "table gives logits (B, T, V). A dashed line says that both tables are the same.",
)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: what does this model have that your encoder of lesson 04 had not,
# and the other way round?
#
# Expect: the table at the end. Learned positions instead of waves, as in BERT, take a
# moment, and so does the norm behind the blocks.
#
# Say: what the blocks write on the line is a bare sum, so a norm comes before the
# scores. 10.B writes this picture from left to right.

# %% [markdown] exercise="10.B"
# Build the whole model. Positions have a learned table too, with row 0 for the first
# token. The sum of both rows goes through dropout, then through the blocks (yours, as
# `mine.GPTBlock`, if 10.A has passed), then through a last norm.

# %% locked=true slide="skip"
mine.take("10.A", GPTBlock)


# %% exercise="10.B"
class GPT(nn.Module):
    """Ids in, a score for every next token out; `config` holds all sizes."""

    def __init__(self, config: course.GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = nn.Embedding(config.max_length, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.norm = nn.LayerNorm(config.d_model)
        sizes = (config.d_model, config.num_heads, config.d_ff, config.dropout)
        # Beside these: layers, an nn.ModuleList of num_layers blocks of these sizes.
        ### BEGIN SOLUTION
        blocks = [mine.GPTBlock(*sizes) for _ in range(config.num_layers)]
        self.layers = nn.ModuleList(blocks)
        ### END SOLUTION
        self.apply(course.initialise)  # small initial weights, see below

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
check("10.B", GPT)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# A row of the table is a token's vector. How do you multiply one vector with all rows
# at once? Look at the small table with three rows, and mind the axes.
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `nn.Embedding` keeps its table in `.weight`, (V, D). `torch.arange` counts places.
# Modules in a plain list are invisible to `parameters()`.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# look up tokens; look up places 0, 1, ...; add; drop out; block after block; last norm;
# product with the transposed table.
# </details>

# %% [markdown] slide="skip"
# A model that knows nothing should say so: before training, its loss on 61 characters
# should be that of equal chances, $\ln 61 = 4.11$. This is why the **initial weights**,
# the random numbers that a layer starts with, are small here: a table that also
# computes scores must not start large. With the weights that `nn.Embedding` draws by
# itself, of variance 1, what do you expect: a loss a little above 4.11, or far above?

# %% slide="skip"
mine.take("10.B", GPT)
text = ids[:33][None]  # (B=1, T + 1)
quiet, loud = (mine.GPT(course.GPTConfig(61, 32, 48, 4, 2)) for _ in range(2))
_ = nn.init.normal_(loud.embedding.weight)  # nn.Embedding's own: N(0, 1)
for name, model in (("small weights", quiet), ("nn.Embedding's own", loud)):
    print(f"{name}: first loss {contest.next_token_loss(model, text).item():.2f}")
assert abs(contest.next_token_loss(quiet, text).item() - math.log(61)) < 0.2
assert contest.next_token_loss(loud, text).item() > 6

# %% [markdown] slide="skip"
# How much of OpenAI's smallest GPT-2 is this table? It has 12 blocks of width 768 and
# 50,257 tokens. Guess a share before you look. (On torch's "meta" device only sizes
# exist, so nothing has to be stored.)

# %% tags=["nbval-check-output"] slide="skip"
with torch.device("meta"):
    openai = course.GPT(course.GPTConfig(50_257, 1024, 768, 12, 12))
total = sum(p.numel() for p in openai.parameters())
share = openai.embedding.weight.numel() / total
print(f"{total:,} parameters, {share:.0%} of them in the table")

# %% [markdown] slide="slide"
# ## The loss, and the shift in it
#
# Row *t* of the logits has seen the tokens up to *t*, and it is asked for token
# *t + 1*. So the last row is asked nothing, and the first token is never asked for. The
# loss is the mean over all questions, in nats.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: five letters go in. How many rows of logits come out, and how many
# of them can be marked?
#
# Expect: "five and five". The last row predicts a letter that we do not have.
#
# Say: so one row is dropped at one end, and one id at the other. Which at which end is
# where people go wrong.

# %% tags=["nbval-check-output"]
piece = "frost"
print("reads:     ", *piece[:-1])
print("should say:", *piece[1:])

# %% [markdown] exercise="10.C" slide="subslide"
# Write the loss. It gets the logits of a whole text, and the ids of that text. Every id
# counts, even 0, because there is no padding here.

# %% [markdown] slide="notes"
# **3 minutes.** Say: you dictate, I type; two lines are enough.
#
# Ask: which end of the logits goes, and which end of the ids?
#
# Expect: both the same end, from some. Then `reshape` in place of `transpose`. Let the
# check speak.
#
# Say: look at *frost* again. The row that has read f is asked for r.


# %% exercise="10.C"
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
check("10.C", language_model_loss)

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

# %% [markdown] slide="subslide"
# What if nobody shifts? A small GPT learns from the sonnets for 100 steps, once with
# your loss and once without the shift, so that every place is asked for the character
# that it has just read. Which of the two ends with the lower loss, and what will each
# write after *The winter*?

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: which of the two has the lower training loss?
# And what does it write?
#
# Expect: "the right one". The other one's loss is almost 0, and it writes r for ever.
#
# Say: it was asked to say what it had just read, and it does. As with the twins of
# lesson 06, the loss looks best where the question was wrong.

# %% slide="skip"
mine.take("10.C", language_model_loss)


def copying_loss(model, text):
    """No shift: every place is asked for the token it has just read."""
    return F.cross_entropy(model(text).transpose(1, 2), text)


def next_token(model, text):
    """Your loss."""
    return mine.language_model_loss(model(text), text)


# %% slide="fragment"
begin = characters.encode("The winter")[None]
for loss_of in (copying_loss, next_token):
    _ = torch.manual_seed(0)
    model = course.GPT(course.GPTConfig(61, 33, 48, 4, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    pieces = contest.windows(ids, 16, 32, seed=0)
    loss = training.train(model, pieces, loss_of, optimizer, 100).loss[-1]
    honest = contest.next_token_loss(model, held_out[:33][None]).item()
    written = characters.decode(course.write_greedily(model, begin, 15)[0])
    print(f"{loss_of.__name__:12}: training loss {loss:.2f}, real loss {honest:.2f}")
    print(f"{'':12}  {written!r}")
    assert (loss < 0.1) == (loss_of is copying_loss) == (honest > math.log(61))

# %% [markdown] slide="skip"
# Without the shift the loss is almost 0, and the model repeats the last letter for
# ever. With tied embeddings that is easy to learn, because a token's own row already
# fits it well. But its *real* loss, measured with the shift on held-out text, is worse
# than that of a model with no idea.

# %% [markdown] slide="slide"
# ## Your GPT learns to write
#
# Your attention, mask, block, GPT and loss now meet the sonnets of lesson 07. Every now
# and then the training stops, and the model writes 60 characters.

# %% [markdown] slide="notes"
# **3 minutes.** Say: start it, and read each line aloud as it comes.
#
# Ask: the LSTM of lesson 07 learned letters first, then the lengths of words. Will this
# one take another way?
#
# Expect: "it learns words at once". It goes through much the same stages.
#
# Say: compare the bits with counting pairs. After which stretch does it know more than
# that?

# %% [markdown] slide="skip"
# This GPT is small: two blocks, 96 numbers wide, and it sees 64 characters at a time.
# You watched an LSTM learn in lesson 07: letters that go together first, then spaces,
# then short words. Will a GPT learn in another order? And after how many steps, 1, 30,
# 100 or 200, will it need fewer bits than the table of pairs? Write down both guesses.
# (The initial weights are larger than GPT-2's, which suits so small a model, and your
# `sample` of lesson 07 draws the characters.)


# %% slide="skip"
def one_step(kind: type[nn.Module]) -> None:
    """What a step of training does, for such a model."""
    model = kind(course.GPTConfig(61, 64, d_model=96, num_heads=4, num_layers=2))
    next_token(model, ids[: 32 * 64].reshape(32, 64)).backward()


mine.take("10.B", GPT, step=one_step)
mine.take("7.E")

_ = torch.manual_seed(10)
writer = mine.GPT(course.GPTConfig(61, 64, d_model=96, num_heads=4, num_layers=2))
_ = writer.apply(partial(course.initialise, std=0.08))
optimizer = torch.optim.AdamW(writer.parameters(), betas=(0.9, 0.98))
pieces = contest.windows(ids, 32, 63, seed=0)  # (B, T=64) each


def rate_at(step: int) -> float:
    """Up for 50 steps, then down to 0 along half a cosine."""
    return min(1, step / 50) * training.half_cosine(0.008, step, 200)


# %% slide="fragment"
history, reader = training.History(), contest.AsRecurrent(writer)
for stretch in (1, 29, 70, 100):
    training.train(
        writer, pieces, next_token, optimizer, stretch, schedule=rate_at, clip=1.0,
        history=history, name="your GPT",
    )  # fmt: skip
    _ = torch.manual_seed(3)
    said = mine.sample(reader, begin, 60, temperature=0.7)
    bits = chars.bits_per_character(reader, held_out[:2000], reader.keep)
    print(f"step {len(history.loss):3}, {bits:.2f} bits: ", end="")
    print(repr(characters.decode(said[0])))
    assert (bits < pair_bits) == (len(history.loss) >= 100)
print(mine)

# %% [markdown] slide="skip"
# The bits are those of held-out sonnets. The order is much like the LSTM's: frequent
# letters first, then letters that go together and spaces at the right distance, then
# short words. After 100 steps it needs fewer bits than counting pairs, yet after 200
# many of its words do not exist. Play with it before you go on: try a temperature of
# 0.3 and of 1.5, and another beginning.

# %% slide="skip"
temperature, beginning = 0.7, "My love "

read = characters.encode(beginning)[None]  # (B=1, T)
said = mine.sample(contest.AsRecurrent(writer), read, 120, temperature)
print(characters.decode(said[0]))

# %% [markdown] slide="slide"
# ## Tokens: neither characters nor words
#
# With characters a text gets long. With words the vocabulary gets huge, and there is
# still no token for an unknown word. **Byte-pair encoding** lies between: begin with
# characters, join the most frequent pair of neighbours into one symbol, and do so again
# and again.

# %% [markdown] slide="notes"
# **3 minutes.** Ask: with a pencil, *low* 5 times, *lower* 2, *newest* 6, *widest* 3.
# How often do *es*, *lo* and *we* stand side by side? Which pair is joined first?
#
# Expect: 9, 7 and 8 from most; some count each word once.
#
# Say: *es* wins, so *newest* is now n, e, w, es, t. Then again. The storyteller's
# vocabulary was made like this, from its stories.

# %% [markdown] slide="skip"
# Why does the storyteller write real words, while your GPT has to spell them? Because
# it has 3,584 tokens, many of them whole words. Where do they come from? Do it by hand,
# with the example of Sennrich et al. (2016): *low* occurs 5 times, *lower* twice,
# *newest* 6 times, *widest* 3 times. Which two letters stand side by side most often?
# Count *es*, *lo* and *we* with a pencil before you run the cell.

# %% tags=["nbval-check-output"] slide="fragment"
occurring = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
for pair in ("es", "lo", "we"):
    terms = [f"{count} ({word})" for word, count in occurring.items() if pair in word]
    print(pair, "=", " + ".join(terms))

# %% [markdown] slide="skip"
# *es* is level with *st* at 9, and in a tie we take the pair that is met first. From
# then on *newest* is n, e, w, es, t. Pairs are counted **within** words only, and never
# across the space between two words.

# %% [markdown] exercise="10.D"
# Write both halves: find the most frequent pair, and merge it within a word.


# %% exercise="10.D"
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
check("10.D", most_frequent_pair, merge)

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

# %% slide="skip"
split = {tuple(word): count for word, count in occurring.items()}
for _ in range(4):
    pair = tuple(most_frequent_pair(split))
    split = {tuple(merge(word, pair)): count for word, count in split.items()}
    print("".join(pair), "→", *(" ".join(word) for word in split), sep="   ")

# %% [markdown] slide="skip"
# Run on a whole text for many steps, this loop makes a **tokenizer**. GPT-2 starts from
# bytes instead of characters: there are only 256, and they can spell any text, so
# nothing is ever unknown. Into how many pieces will the storyteller's tokenizer cut our
# sentence? Each piece has a row in its table. (A space belongs to the word after it,
# and is written as `Ġ`.)

# %% tags=["nbval-check-output"]
tokenizer = pretrained.load_tokenizer("storyteller")
sentence = "The animal did not cross the street because it was too tired."
print(*tokenizer.tokenize(sentence))
print(f"{len(tokenizer.tokenize(sentence))} pieces of {len(tokenizer):,} tokens")
assert tokenizer.decode(tokenizer.encode(sentence)) == sentence

# %% [markdown] slide="skip"
# Nearly every word is a single token, but *animal* falls into three. The stories tell
# of bears and hens, and hardly ever say *animal*, so its pieces were never merged into
# one. A tokenizer, too, only knows what it has read.

# %% [markdown] slide="slide"
# ## Your GPT tells a story
#
# Your GPT has the storyteller's architecture, so the storyteller's weights must fit
# into it. Here is one of its blocks as the library `transformers` builds it, and its
# shapes beside those of the course's block.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: look at the two columns of shapes. What is different, and which
# line is the dangerous one?
#
# Expect: "they are turned round". The square one takes longer: it fits both ways.
#
# Say: Conv1D is GPT-2's name for a linear layer whose matrix is stored as (in, out).
# 10.E in the lab copies them all.

# %% slide="skip"
theirs = pretrained.load_gpt2("storyteller")
facts = theirs.config
config = course.GPTConfig(
    facts.vocab_size, facts.n_positions, facts.n_embd, facts.n_head, facts.n_layer
)
print(f"{theirs.num_parameters():,} parameters")
print(theirs.transformer.h[0])
assert round(theirs.num_parameters() / 1e6, 1) == 2.5

# %%
ours_is, block = course.GPT(config).layers[0], theirs.transformer.h[0]
for ours, name in (
    ("attention.to_qkv", "attn.c_attn"),
    ("attention.W_o", "attn.c_proj"),
    ("feed_forward.W_1", "mlp.c_fc"),
    ("feed_forward.W_2", "mlp.c_proj"),
):
    shapes = [
        tuple(model.get_submodule(part).weight.shape)
        for model, part in ((ours_is, ours), (block, name))
    ]
    print(f"{ours:16} {shapes[0]!s:12} {name:12} {shapes[1]}")

# %% [markdown] exercise="10.E"
# Copy their numbers into the course's GPT, whose parts are named like yours, except
# that its attention keeps W_q, W_k and W_v in one matrix, as GPT-2 does. Look at the
# shapes first: `nn.Linear` stores its matrix as (out, in), their `Conv1D` as (in, out).
# One of the four is square, so it fits both ways, but it is stored like the others.
# Three pairs are done for you.


# %% exercise="10.E"
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
    body = theirs.transformer
    pairs = [(mine.embedding, body.wte), (mine.positions, body.wpe)]
    pairs.append((mine.norm, body.ln_f))
    ### BEGIN SOLUTION
    for block, other in zip(mine.layers, body.h, strict=True):
        pairs += [(block.norm1, other.ln_1), (block.norm2, other.ln_2)]
        pairs.append((block.attention.to_qkv, other.attn.c_attn))
        pairs.append((block.attention.W_o, other.attn.c_proj))
        pairs.append((block.feed_forward.W_1, other.mlp.c_fc))
        pairs.append((block.feed_forward.W_2, other.mlp.c_proj))
    for target, source in pairs:
        transposed = isinstance(target, nn.Linear)
        target.weight.copy_(source.weight.T if transposed else source.weight)
        if not isinstance(target, nn.Embedding):
            target.bias.copy_(source.bias)
    return mine
    ### END SOLUTION


# %%
check("10.E", load_gpt2)

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
# go on listing pairs of layers, yours and theirs, block by block; for each pair copy
# the weight, transposed if it is a matrix of a linear layer; copy the bias where there
# is one.
# </details>

# %% [markdown] slide="subslide"
# Now the weights go into the model that is yours from end to end. `fill` passes them on
# by name, as in lesson 05, and gives your attention its three matrices. How large will
# the largest difference from the library's logits be?

# %% [markdown] slide="notes"
# **1 minute.** Ask: the same weights in two programs. Will the logits be equal to the
# last digit?
#
# Expect: "yes", from half of them. They differ by rounding, as BERT did in lesson 04.
#
# Say: what you built in three exercises is GPT-2; OpenAI's differ in size and in what
# they have read.

# %%
mine.take("10.E", load_gpt2)
filled = mine.load_gpt2(course.GPT(config), theirs).eval()
own = fill(mine.GPT(config), filled)

read = torch.tensor([tokenizer.encode(sentence)])  # (B=1, T)
with torch.no_grad():
    gap = (own(read) - theirs(read).logits).abs().max().item()
print(f"largest difference below 1e-4: {gap < 1e-4}")
print(mine)
assert gap < 1e-4


# %% slide="subslide"
def tell(beginning: str, draws: int = 0, temperature: float = 0.7) -> str:
    """Go on with a text, by your own GPT, until the story or 120 tokens are over."""
    _ = torch.manual_seed(draws)
    read = torch.tensor([tokenizer.encode(beginning)])
    written = mine.sample(contest.AsRecurrent(own), read, 120, temperature, top_k=50)
    return tokenizer.decode(written[0]).split(tokenizer.eos_token)[0]


print(tell("Once there was a little bear who", draws=1))

# %% [markdown] slide="notes"
# **2 minutes.** Ask: who has a beginning? Run it with theirs, three times, with other
# draws.
#
# Expect: laughter, and somebody who types a name that no story has.
#
# Say: the code is ours, the numbers were learned by somebody else. Now ask it for the
# end of our sentence about the animal and the street, and let them say why it fails.

# %% [markdown] slide="skip"
# That is your attention, your mask, your block, your GPT and your sampling, wherever
# the line above the story says so; only the weights were learned elsewhere. Apart from
# its size and what it has read, it is GPT-2, the model of 2019.
#
# Now the model is yours to play with. Give it a beginning from your own life, change
# the temperature, and then ask it for the end of *The animal did not cross the street
# because it was too*. You have known the answer since lesson 02. Does the storyteller?

# %%
print(tell("My grandmother never told anybody that she", draws=0, temperature=0.7))

# %% [markdown] slide="skip"
# <details><summary>What we saw</summary>
#
# Ours turned the grandmother into a dog, gave her a grandmother of her own, and went on
# like its stories. At the end of our sentence it did not say *tired*: after *too* it
# put a full stop, for its stories are not about streets that nobody crosses. Nothing is
# wrong with its attention. A language model has learned what comes next *in its texts*,
# and nothing else.
# </details>

# %% [markdown] slide="slide"
# ## Going further
#
# From here on everything is optional. You have the whole of GPT-2. What follows makes
# it faster, sends it into a contest with the LSTM, and tries a task that suits
# attention better than a state.

# %% [markdown] slide="subslide"
# ### Bugs from the wild
#
# A figure that is often copied explains GPT with the decoder layer of 2017,
# cross-attention and all. The mistake is easy to overlook, because such a layer runs if
# it is given a memory, and if that memory is the text itself, it sees the future.

# %% [markdown] exercise="10.F"
# Here are the parts of lesson 05's layer. Which two have to go before it is a GPT
# block? Give their names as a tuple, in the order in which they are printed.

# %% locked=true tags=["nbval-check-output"]
layer = DecoderLayer(d_model=12, num_heads=3, d_ff=48, norm_first=True)
print(*(name for name, _ in layer.named_children()), sep="\n")

# %% exercise="10.F"
### BEGIN SOLUTION
must_go = ("cross_attention", "norm2")  # and its norm
### END SOLUTION

# %%
check("10.F", must_go)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# Which sublayer needs a second text? And which norm stands beside it?
# </details>

# %% [markdown] slide="subslide"
# ### A cache: read each token once
#
# To write 100 tokens, the model is asked 100 times, and each time it reads the whole
# text again. But **no token sees a later one**, so the keys and values of the old
# tokens can't have changed. Keep them: that is the **key/value cache**.

# %% [markdown] slide="notes"
# **3 minutes.** Ask: the seventh word is about to be written. Without a cache, which of
# these fields are computed again, and did any of them change?
#
# Expect: all 21, and none changed, because of the causal mask.
#
# Say: an encoder could not do this. With one more word, all its vectors are new.

# %%
tokens = ["The", "animal", "did", "not", "cross", "the"]
show_figure(
    draw.cache_work(tokens),
    "Two triangles of scores for six tokens. Without a cache all 21 fields are "
    "computed again for the next token; with a cache only the last row of six is.",
)

# %% [markdown] slide="skip"
# Try it by hand: three tokens have been read, and two new ones come in one call. So
# there are two queries and five keys. The first new token may see four keys, the second
# all five. Where in this table of two rows and five columns is the triangle of the
# mask?

# %% tags=["nbval-check-output"] slide="skip"
new, everything = 2, 5
seen = torch.ones(new, everything, dtype=torch.bool).tril(diagonal=everything - new)
print(seen.dtype)
show("may attend", seen.int())  # as numbers only for the eye

# %% [markdown] exercise="10.G"
# First the cache by itself: join the past and the new tokens, and say which may see
# which. Leave the past unchanged, so that one text can be continued in two ways.


# %% exercise="10.G"
def extend_past(
    past: tuple[Tensor, Tensor] | None, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Keys and values of all tokens, and the mask of the new ones.

    Args:
        past: keys and values of all S tokens before, (B, H, S, K) each; None: none
        key: of the T new tokens, (B, H, T, K)
        value: likewise

    Returns:
        keys and values of all tokens, (B, H, S + T, K) each, and the mask
        (T, S + T), boolean, True = may attend
    """
    ### BEGIN SOLUTION
    new = key.shape[2]
    if past is not None:
        key = torch.cat([past[0], key], dim=2)  # (B, H, S + T, K)
        value = torch.cat([past[1], value], dim=2)
    every_pair = torch.ones(new, key.shape[2], dtype=torch.bool, device=key.device)
    return key, value, every_pair.tril(diagonal=key.shape[2] - new)
    ### END SOLUTION


# %%
check("10.G", extend_past)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# The keys have four axes. Which one grows with the text? And how many rows has the
# mask, how many columns?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `torch.cat` with `dim=`. `tril` has an argument that moves its diagonal: see the cell
# by hand.
# </details>

# %% [markdown] exercise="10.H"
# Now use it, as `mine.extend_past`, first in one layer, which gets only the new tokens
# and the past, and then in the whole model. There every layer has its own past, and the
# new tokens' positions go on where the past ends.

# %% locked=true slide="skip"
mine.take("10.G", extend_past)


# %% exercise="10.H"
def attend_on(
    layer: course.CausalSelfAttention, x: Tensor, past: tuple[Tensor, Tensor] | None
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Self-attention of new tokens (B, T, D): they see the past and not the future.

    `past` holds keys and values of the S tokens before, (B, H, S, K) each, or is None;
    `layer` has num_heads, W_o and to_qkv (D -> 3 D: query, key, value in this order).
    Returns (B, T, D), and keys and values of all tokens, (B, H, S + T, K) each.
    """
    parts = layer.to_qkv(x).chunk(3, -1)
    query, key, value = (split_heads(p, layer.num_heads) for p in parts)  # (B, H, T, K)
    ### BEGIN SOLUTION
    #: mixed = ...  # (B, H, T, K)
    key, value, mask = mine.extend_past(past, key, value)
    mixed = attention(query, key, value, mask)  # (B, H, T, K)
    return layer.W_o(merge_heads(mixed)), (key, value)
    ### END SOLUTION


def read_on(
    model: course.GPT, ids: Tensor, past: list | None
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """Read new tokens, ids (B, T), after those that were read before. No dropout.

    `model` has embedding, positions, layers and norm; a layer norm1, attention, norm2
    and feed_forward. `past` is what this returned for the tokens before, or None.
    Returns logits (B, T, V), and for each layer its keys and values.
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
check("10.H", attend_on, read_on)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which three things does the attention need besides the query, and where do they come
# from? Where in a past of several layers can you read off how many tokens there were?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `attention(query, key, value, mask)` returns the mixed values, (B, H, T, K), and
# `merge_heads` lays the heads side by side. A past is a list with a pair for each
# layer, and the keys of a pair are (B, H, S, K).
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# one layer: extend the past; attention; merge heads; last projection. The model:
# positions from the length of the past; block by block as in 10.A, each with its own
# past; collect the pairs; last norm; scores.
# </details>

# %% [markdown] slide="skip"
# Let the storyteller write 100 tokens with your cache and without one. By which factor
# do you expect the times to differ? Then change `count` to 200.

# %%
mine.take("10.H", attend_on, read_on)
count, texts = 100, {}
prompt = torch.tensor([tokenizer.encode("Once there was a girl named Anna, who")])
for cached in (False, True):
    text, unread, past, start = prompt, prompt, None, time.perf_counter()
    with torch.no_grad():
        for _ in range(count):
            logits, past = mine.read_on(filled, unread, past if cached else None)
            best = logits[:, -1:].argmax(-1)  # (B, 1)
            text = torch.cat([text, best], 1)
            unread = best if cached else text
    texts[cached] = text
    print(f"cached={cached}: {count} tokens in {time.perf_counter() - start:.2f} s")
print(tokenizer.decode(texts[True][0]))
assert torch.equal(texts[False], texts[True])

# %% [markdown] slide="skip"
# With the cache, ours took less than half the time, and the two texts are the same,
# token for token. That is worth a test, because a common mistake with a cache gives
# every new token the position 0. No error is raised. Where does the text go wrong?

# %% slide="skip"
restarted = copy.deepcopy(filled)
with torch.no_grad():
    restarted.positions.weight[:] = filled.positions.weight[0]
    gaps = (restarted(prompt) - filled(prompt)).abs().amax((0, 2))  # (T)
show("largest error of a logit, place by place", gaps, digits=0)
assert gaps[0] < 1e-4 and gaps[1:].min() > 1

# %% [markdown] slide="skip"
# The first place is right, because its position really is 0, so a test of a single step
# passes. Compare a whole text, with and without the cache.

# %% [markdown] slide="subslide"
# ### A contest, and what decides it
#
# An LSTM like that of lesson 07, but larger, and a GPT with as many parameters read the
# same sonnets, with as many characters in each step and the same peak learning rate.
# Which needs fewer bits per character? This contest is yours to run. With 40 steps the
# cells take seconds and settle nothing. Set `steps` to 250, and write down which is
# ahead and how you would explain it. Then change **one** more number, the rate, from
# 0.004 to 0.008, and run it again.

# %% tags=["contest"] slide="skip"
seed, rate, steps = 10, 0.004, 40
torch.manual_seed(seed)
lstm = CharacterModel(61, 264)
sizes = {"d_model": 120, "num_heads": 4, "num_layers": 2, "first_std": 0.08}
gpt = course.GPT(course.GPTConfig(61, 64, **sizes))
numbers = [sum(p.numel() for p in model.parameters()) for model in (lstm, gpt)]
print("LSTM {:,} parameters, GPT {:,}".format(*numbers))
assert abs(numbers[0] / numbers[1] - 1) < 0.02

# %% tags=["contest"] slide="skip"
options = {"rate": rate, "held_out": held_out[:2000], "every": max(10, steps // 5)}
histories = {
    "LSTM": chars.train_on_characters(lstm, ids, steps, name="LSTM", **options),
    "GPT": contest.train_gpt(gpt, ids, steps, seed=seed, **options),
}
reader = contest.AsRecurrent(gpt)
bits = {
    "LSTM": chars.bits_per_character(lstm, held_out),
    "GPT": chars.bits_per_character(reader, held_out, reader.keep),
}
for name, value in bits.items():
    print(f"{name}: {value:.2f} bits per character, {histories[name].seconds:.0f} s")
assert max(bits.values()) < math.log2(61)

# %% slide="skip"
if steps >= 200:  # shorter curves lie above what the figure shows
    show_figure(
        draw.contest(histories, {"counting pairs": pair_bits}),
        "Bits per held-out character of an LSTM and a GPT, against steps on the left "
        "and seconds on the right.",
    )

# %% [markdown] slide="skip"
# <details><summary>What we saw with 250 steps</summary>
#
# With 0.004 the GPT was ahead by more than a tenth of a bit, and an explanation comes
# to mind at once: whatever stands in its window is one look away. With 0.008 they were
# less than a tenth of a bit apart, and there was nothing left to explain. Nothing about
# the two models had changed. We believed the first result for some time.
# </details>
#
# So we can only say something narrow: after 250 steps on this text, whether the GPT is
# clearly ahead depends on the learning rate (`python -m tools.experiments contest` runs
# both rates with three seeds). We did not measure which is better after a long
# training, each at its own best rate.

# %% [markdown] slide="subslide"
# ### What attention buys: recall
#
# Now a task that is all about the past (Arora et al. 2023). The model reads eight pairs
# of a name and a number (a key and a value in the code). Then the names come again, in
# another order, and after each it has to give the number. All pairs are new in every
# text, so nothing can be learned by heart.

# %% [markdown] slide="notes"
# **3 minutes.** Say: play it with four pairs on the board, then wipe them off.
#
# Ask: who has to remember what, the LSTM and the GPT? And would a single layer of
# attention do?
#
# Expect: "one look is enough, the name is there". But the number stands one place
# behind the name.
#
# Say: with two layers nearly all answers are right; with one layer about one in six, as
# with the LSTM.

# %% tags=["recall"] slide="skip"
task = recall.RecallTask()


def name_of(token: int) -> str:
    """Keys as letters, values as numbers."""
    return ascii_letters[token] if token < task.keys else str(token - task.keys)


example, answers = task.batch(1, torch.Generator().manual_seed(0))
told, asked = example[0].split([2 * task.pairs, task.pairs])
print("told: ", *map(name_of, told.tolist()))
print("asked:", *map(name_of, asked.tolist()))
print("right:", *map(name_of, answers[0].tolist()))

# %% [markdown] slide="skip"
# An LSTM has to carry all eight pairs along in its state, but a GPT can leave them
# where they are and look them up. The GPT has two layers here; the LSTM has somewhat
# more parameters, and learns for as many steps. `RecallGPT` is a GPT with two changes:
# its output layer has weights of its own instead of sharing those of the embedding,
# because a name that was just read is never the right answer, and its initial weights
# are larger. Without the second, ours got 17 % right after as many steps, which is
# little more than naming any of the eight numbers (`python -m tools.experiments
# small_tables`). Both learn with *Muon*, an optimizer for matrices that was used for
# the storyteller, too.

# %% tags=["recall"] slide="skip"
seed = 10
curves, right = {}, {}


def new_gpt(layers: int) -> recall.RecallGPT:
    """A GPT of this many layers, 64 wide with two heads."""
    torch.manual_seed(seed)
    sizes = {"d_model": 64, "num_heads": 2, "num_layers": layers, "first_std": 0.07}
    return recall.RecallGPT(course.GPTConfig(task.vocab_size, task.length, **sizes))


def parameters(model: nn.Module) -> int:
    """How many numbers are learned."""
    return sum(p.numel() for p in model.parameters())


def learn(name: str, model: nn.Module) -> None:
    """Train for 400 steps, and measure on texts that were never seen."""
    curves[name] = recall.train_to_recall(model, task, 400, seed, name=name)
    right[name] = curves[name][1][-1]
    print(f"{name}: {right[name]:.1%} right, {parameters(model):,} parameters")


# %% tags=["recall"] slide="skip"
looker = new_gpt(layers=2)
learn("GPT, two layers", looker)
torch.manual_seed(seed)
carrier = CharacterModel(task.vocab_size, hidden_size=128)  # an LSTM
learn("LSTM", carrier)
assert right["GPT, two layers"] > 0.99 and right["LSTM"] < 0.6
assert parameters(carrier) > parameters(looker)

# %% [markdown] slide="skip"
# Is it the attention, or is it the second layer? Take that layer away and leave the
# rest. How many answers in a hundred will be right now?

# %% tags=["recall"] slide="skip"
learn("GPT, one layer", new_gpt(layers=1))
assert right["GPT, one layer"] < 0.3

# %%
show_figure(
    draw.recall_curves(curves, chance=1 / task.pairs),
    "Right answers on new texts against seconds of training. The GPT with two layers "
    "climbs past one in eight, then steeply to almost 1. The GPT with one layer and "
    "the LSTM stay a little above one in eight.",
)

# %% [markdown] slide="skip"
# With one layer it does about as well as the LSTM. Naming any of the eight numbers it
# has read is right one time in eight, and neither gets much further. The GPT with two
# layers begins in the same way, but then its curve rises steeply: it has found out how
# to look a number up. So in these 400 steps a single layer of attention is not enough,
# and two are (`python -m tools.experiments recall` repeats it with other seeds). What
# exactly did it find?

# %% [markdown] slide="subslide"
# ### Two steps, two heads
#
# A query, the second mention of a name, can find the first one, but the answer comes
# **one place later**. So in the first layer every number looks at the token before it,
# and notes that name. In the second layer a query looks for the number that has noted
# its own name. Such a second head is called an **induction head** (Olsson et al. 2022).

# %% [markdown] exercise="10.J"
# Find each of the two heads by a score, a mean weight, one number per head.


# %% exercise="10.J"
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
check("10.J", previous_token_score, lookup_score)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Row 7 of the weights belongs to token 7. In which column does the weight on token 6
# stand? And for a query: at which place does the same id stand for the first time?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `tensor.diagonal(offset, dim1, dim2)` cuts a line parallel to the diagonal.
# `list.index` finds the first place. Loops are welcome; give a new tensor the dtype of
# the weights.
# </details>

# %%
ids_seen, _ = task.batch(200, torch.Generator().manual_seed(1))
found = course.attention_weights(looker.eval(), ids_seen)  # per layer (B, H, T, T)
for number, weights in enumerate(found):
    show(f"layer {number}, previous token", previous_token_score(weights), digits=2)
    show(f"layer {number}, look-up", lookup_score(weights, ids_seen, 8), digits=2)

# %% tags=["recall"] slide="skip"
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

# %% slide="subslide"
letters = [name_of(token) for token in ids_seen[0].tolist()]
show_figure(
    draw.two_heads(
        {
            f"previous token: {names[previous]}": found[0][0, previous],
            f"look-up: {names[lookup]}": found[1][0, lookup - 2],
        },
        letters,
        told=2 * task.pairs,
    ),
    "Attention of the two heads for one text. Left, in the rows of the values, the "
    "dark fields lie just left of the diagonal: every value looks at its key. Right, "
    "in the rows of queries below the line, a dark field at the value that was told.",
)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: take a row below the line, on the right. Which letter asks, and
# where does it look?
#
# Expect: it takes a minute to read the first row; then everybody wants another.
#
# Say: nobody programmed these two steps. On the left only the values have a reason to
# look back.

# %% [markdown] slide="skip"
# On the left only the numbers have a reason to look back, and they put nearly all their
# weight on the name before them. Names look here and there, so the mean over all places
# is well below 1. On the right, read a row below the line: the query is a letter, and
# its dark field is in the column of the number that came with it. Nobody programmed
# that, and nobody said that there should be two steps. (Two heads of a layer may learn
# the same job, so compare all four scores.)

# %% [markdown] slide="slide"
# ## What you can do now
#
# You can build a GPT from a block, one table and a shifted loss, and you have run the
# weights of a trained GPT-2 in your own code. You know where its tokens come from, how
# a cache saves it from reading a text again and again, and that a contest at a single
# learning rate proves little. Where something has to be looked up, you have seen two
# layers of attention do it, one after the other, and one layer fail.
#
# Next, lesson 11 takes your GPT and asks what to do with its logits: always the most
# likely token, or now and then another one?

# %% [markdown] slide="notes"
# **1 minute.** Ask: what would you tell a friend about GPT, in one sentence?
#
# Expect: "it guesses the next word". Ask them which words it has read before.
#
# Say: choosing the next word is a subject of its own. Lesson 11 tells the same story
# with five ways of choosing.

# %% [markdown] slide="skip"
# **References.** Radford et al. 2018 and 2019 (GPT, GPT-2). Vaswani et al. 2017 (arXiv
# 1706.03762). Press and Wolf 2017 (arXiv 1608.05859), for tied embeddings. Gage 1994
# and Sennrich et al. 2016 (arXiv 1508.07909), for byte pairs. Arora et al. 2023 (arXiv
# 2312.04927), for recall. Olsson et al. 2022 (arXiv 2209.11895), for induction heads.
# Jordan et al. 2024, for Muon. Karpathy's minGPT and nanoGPT show a whole GPT on one
# screen.
