# %% [markdown] slide="slide"
# # 11 GPT-2: choosing the next word
#
# **A language model gives you thousands of numbers. Which word do you write?**
#
# You need: lessons 02, 05 and 06, best also 10. Time: {minutes}.

# %% [markdown] slide="subslide"
# At the end of this lesson you can
#
# - write greedy search, temperature, top-k, top-p, n-gram blocking and beam search;
# - say what each of the settings of `model.generate` does, and in which order;
# - continue a batch of prompts without changing what each one would have got alone;
# - measure how well a text fits a model, and say what training on feedback adds.

# %% [markdown] slide="notes"
# 45 minutes: one distribution (5), greedy and its loops (7), temperature, top-k, top-p
# (13), the misspelt word (8), a beam by hand (7), perplexity and feedback (5). Leave
# 11.J, 11.K and best of n for the lab. Usual trouble: the token that crosses p, the
# sorted row that is never unsorted, and sums against means in the beam.

# %%
import shutil
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers import pretrained, show
from helpers.checks import check
from helpers.figures import generation as draw
from helpers.figures import show_figure
from helpers.figures.play import play
from helpers.generation import sampling
from helpers.generation.beam import continue_text
from helpers.generation.prompts import PROMPTS
from helpers.generation.rewards import StarReader
from helpers.student.own_parts import OwnParts

_ = torch.manual_seed(11)

# %% [markdown]
# **Letters in shape comments**: `B` batch, `T` tokens so far, `V` vocabulary.
# **Scores** (logits) are what the model puts out; their softmax are probabilities. A
# blocked token has the score minus infinity, and so the probability 0.

# %% [markdown] slide="slide"
# ## Why: the model does not choose
#
# A GPT reads a text and scores every token of its vocabulary as the next one. That is
# all it does. Writing means choosing from these scores, again and again. The choice is
# ordinary code, and it is up to you.

# %%
model = pretrained.load_gpt2()
tokenizer = pretrained.load_tokenizer("gpt2")
bundled = pretrained.source() == "bundled"
size = sum(p.numel() for p in model.parameters())
print(f"{type(model).__name__}: {size:,} parameters, {len(tokenizer):,} tokens")

# %% [markdown]
# The bundled model has the architecture of GPT-2 and a thirtieth of the size of the
# smallest one. It has read software manuals and nothing else. It writes sentences that
# sound like a manual; it knows no facts. So give it beginnings of that kind. (With
# `COURSE_SOURCE=hub` the same cells load OpenAI's `gpt2`.)

# %% slide="subslide"
prompt = "If the file does not exist,"
ids = tokenizer(prompt, return_tensors="pt").input_ids  # (B=1, T)
with torch.no_grad():
    logits = model(ids).logits  # (B=1, T, V)
print(tokenizer.convert_ids_to_tokens(ids[0].tolist()))
print("scores:", tuple(logits.shape))

# %% [markdown]
# `Ġ` is how this tokenizer shows a space: it belongs to the token after it. There is a
# row of scores for every token, and each row is about the token that comes **after**
# it. The last row is the one that you need now.


# %%
def pieces(ids: Tensor) -> list[str]:
    """The text of each token."""
    return [tokenizer.decode([one]) for one in ids.tolist()]


shares, likely = logits[0, -1].softmax(-1).topk(12)
show_figure(
    draw.next_tokens(pieces(likely), shares, prompt),
    "Bars of the 12 likeliest next tokens. In the bundled model ' the' has 27 percent, "
    "' it' 12, ' then' 10, and the bars get shorter and shorter.",
)
if bundled:
    assert (100 * shares[:3]).round().tolist() == [27, 12, 10]
    assert 0.6 < shares.sum() < 0.8

# %% [markdown]
# Twelve tokens have most of the probability, but not all. The rest is spread over
# thousands. Each single one is unlikely, but together they matter: keep this tail in
# mind.

# %% [markdown]
# What kind of model says this? GPT is a stack of **decoder** layers, without the look
# at a source: nobody speaks first. (Figures that show a GPT with cross-attention are
# common, and wrong.) BERT guesses hidden tokens from both sides; GPT guesses the next
# one from the left. So GPT can write.

# %% tags=["nbval-check-output"]
names = [name for name, _ in model.named_parameters()]
print("parameters with 'cross' in their name:", sum("cross" in name for name in names))

# %% [markdown] slide="slide"
# ## By hand: four tokens
#
# Scores 2, 1, 0, −1. Each step down divides the probability by e = 2.718. A
# **temperature** divides the scores first. **Top-k** keeps the k likeliest. **Top-p**
# keeps the likeliest until they have the probability p together.

# %% tags=["nbval-check-output"]
four = torch.tensor([2.0, 1.0, 0.0, -1.0])
for temperature in (0.5, 1.0, 2.0):
    shares = (four / temperature).softmax(-1)
    show(f"temperature {temperature}", shares)
    show("          summed up", shares.cumsum(-1))

# %% [markdown]
# Take a pencil. Top-k with k = 2 keeps two tokens at any temperature. Top-p with p =
# 0.8 keeps one at temperature 0.5 (0.8650), two at 1 (0.8808), and three at 2 (0.8985):
# the surer the model, the fewer are left. So the order of temperature and top-p
# matters: top-p after the temperature chooses from other probabilities than before it.

# %% [markdown] slide="slide"
# ## Greedy: always the best
#
# The simplest choice: take the likeliest token, put it behind the text, ask again.

# %% [markdown] exercise="11.A"
# Continue each prompt of a batch by exactly `max_new_tokens` tokens. The model is one
# of `transformers`: `model(ids).logits` has the shape (B, T, V).


# %% exercise="11.A"
@torch.no_grad()
def greedy(model, ids: Tensor, max_new_tokens: int) -> Tensor:
    """Write the likeliest token, again and again.

    Args:
        model: model(ids).logits are scores (B, T, V)
        ids: (B, T), the prompts
        max_new_tokens: how many tokens are added

    Returns:
        (B, T + max_new_tokens), the prompts first
    """
    ### BEGIN SOLUTION
    for _ in range(max_new_tokens):
        scores = model(ids).logits[:, -1]  # (B, V)
        best = scores.argmax(-1, keepdim=True)  # (B, 1)
        ids = torch.cat([ids, best], dim=1)
    return ids
    ### END SOLUTION


# %%
check("11.A", greedy)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which row of the scores is about the token that does not exist yet?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `argmax` takes an axis, and `keepdim=True` keeps it as an axis of length 1, ready to
# be joined to the ids.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# repeat: score the whole text; look at its last row; find the best token of each
# prompt; append it.
# </details>

# %%
print(tokenizer.decode(greedy(model, ids, 30)[0]))

# %% [markdown]
# `<|endoftext|>` is a token like any other: in training it stood between two texts. And
# greedy text goes round in circles. Once a sentence is likely, saying it again is
# likelier still. Three more prompts, with the course's version:

# %%
for beginning in PROMPTS[1:4]:
    begun = tokenizer(beginning, return_tensors="pt").input_ids
    print(repr(tokenizer.decode(sampling.greedy(model, begun, 30)[0])))

# %% [markdown] exercise="11.B"
# A published notebook calls `model.generate(ids, max_length=100)` with a prompt of 9
# tokens, *In a world where AI has become commonplace,*. **How many new tokens does it
# get, at most?** (The printed sample ends in the middle of a sentence.) Look
# `max_length` up if you like.

# %% exercise="11.B"
### BEGIN SOLUTION
new_tokens = 91  # max_length is the length of it all: 100 - 9
### END SOLUTION

# %%
check("11.B", new_tokens)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# What would `max_length=9` leave room for?
# </details>

# %% [markdown]
# A prompt as long as `max_length` leaves room for nothing, and a good library says so.
# `max_new_tokens` means what it says. Prefer it.

# %% tags=["nbval-check-output"]
try:
    model.generate(ids, max_length=ids.shape[1], pad_token_id=0)
except ValueError as error:
    print(f"{type(error).__name__}: {str(error).split('. ')[0]}.")

# %% [markdown] slide="slide"
# ## Temperature: how daring?
#
# Instead of taking the best, draw by lot, with the model's probabilities. Temperature
# $\tau$ makes the lot more careful or more daring:
#
# $$p_i \propto e^{z_i / \tau}$$
#
# Small: nearly greedy. Large: nearly all tokens alike.

# %% [markdown] exercise="11.C"
# Apply the temperature to scores. Return scores again, so that other filters can
# follow.


# %% exercise="11.C"
def apply_temperature(logits: Tensor, temperature: float) -> Tensor:
    """Make a distribution sharper (below 1) or flatter (above 1).

    Args:
        logits: (B, V), scores z
        temperature: above 0

    Returns:
        (B, V), scores whose softmax is proportional to exp(z / temperature)
    """
    ### BEGIN SOLUTION
    return logits / temperature
    ### END SOLUTION


# %%
check("11.C", apply_temperature)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# In the formula, what happens to $z_i$ before the exponential? Who takes the
# exponential here, you or the softmax that comes later?
# </details>

# %%
show("hot", apply_temperature(four[None], 2.0))

# %%
last = logits[:, -1]  # (B=1, V)
by_heat = {
    heat: sampling.apply_temperature(last, heat)[0].softmax(-1)
    for heat in (0.3, 0.7, 1.0, 2.0)
}
show_figure(
    draw.temperatures(by_heat, likely, pieces(likely)),
    "The same 12 tokens at four temperatures. At 0.3 one token has nearly all of the "
    "probability; at 2 the bars are low and nearly equal.",
)

# %%
for heat, shares in by_heat.items():
    outside = 1 - shares.topk(50).values.sum()
    print(f"temperature {heat}: outside of the 50 likeliest {outside:.1%}")
tails = [1 - one.topk(50).values.sum() for one in by_heat.values()]
assert tails == sorted(tails)

# %% [markdown]
# At temperature 2 most draws come from outside of the 50 likeliest tokens: from words
# that hardly ever fit. One such word, and the rest of the text follows it. So the tail
# is cut off before the draw. There are two ways.

# %% [markdown] slide="slide"
# ## Top-k: the likeliest few

# %% [markdown] exercise="11.D"
# Keep the k likeliest tokens of each row and block the others. Tokens that are **as
# likely as the k-th** stay as well: there is no reason to prefer one of them. And k may
# be 1, or larger than the vocabulary.


# %% exercise="11.D"
def top_k_filter(logits: Tensor, k: int) -> Tensor:
    """Block all but the k highest scores, and those equal to the k-th.

    Args:
        logits: (B, V)
        k: at least 1; from V on nothing is blocked

    Returns:
        (B, V), the same scores, minus infinity where blocked
    """
    ### BEGIN SOLUTION
    k = min(k, logits.shape[-1])
    lowest = logits.topk(k).values[..., -1:]  # (B, V=1)
    return logits.masked_fill(logits < lowest, -torch.inf)
    ### END SOLUTION


# %%
check("11.D", top_k_filter)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# If you knew the score of the k-th likeliest token, how would you find out who is to be
# blocked?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `torch.topk` sorts what it finds, best first. Keep the token axis when you pick one
# value of it: `[..., -1:]` keeps an axis, `[..., -1]` drops it.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# limit k; bound = k-th highest score of each row; fill with minus infinity below the
# bound.
# </details>

# %%
show(
    "k = 2", top_k_filter(torch.tensor([[2.0, 1.0, 0.0, 1.0], [0.0, 3.0, 1.0, 2.0]]), 2)
)

# %% [markdown]
# Why such care about k = 1? A published character model squeezes away axes of length 1
# in its top-k, and with k = 1 the k-axis is one of them: it dies with a `TypeError`.
# The smallest allowed value is the first one to test.

# %% [markdown]
# How many tokens make sense? That depends. Here are two beginnings, and how many tokens
# it takes to gather 90 % of the probability.

# %%
beginnings = ("You don", "If True, the")
rows = {}
for beginning in beginnings:
    begun = tokenizer(beginning, return_tensors="pt").input_ids
    rows[beginning] = sampling.next_logits(model, begun)  # (B=1, V)
    kept = sampling.top_p_filter(rows[beginning], 0.9).isfinite().sum().item()
    best = pieces(rows[beginning][0].topk(3).indices)
    print(f"{beginning!r}: {kept} of {len(tokenizer)}, the first three {best}")

# %% [markdown]
# After *You don* there is one thing to say. After *If True, the* there are hundreds. No
# k fits both: 50 lets 49 misfits in here, and cuts most of the choice off there.

# %% [markdown] slide="slide"
# ## Top-p: the likeliest share
#
# Keep the smallest set of likeliest tokens whose probabilities reach p together. Its
# size follows the model: small where it is sure, large where it is not. (Holtzman et
# al. called it *nucleus sampling*.)

# %% [markdown] exercise="11.E"
# Write it. The token that brings the sum to p is kept, or the set would not reach p.
# The likeliest token is always kept, also with p = 0. With p = 1 nothing is blocked, up
# to rounding. Of **equally likely** tokens only as many stay as are needed, whichever.
# Each score stays at its own place.


# %% exercise="11.E"
def top_p_filter(logits: Tensor, p: float) -> Tensor:
    """Keep the smallest set of likeliest tokens that has probability p.

    Args:
        logits: (B, V)
        p: from 0 to 1

    Returns:
        (B, V), the same scores, minus infinity where blocked
    """
    ### BEGIN SOLUTION
    ordered, places = logits.sort(dim=-1, descending=True)  # (B, V)
    each = ordered.softmax(-1)
    before = each.cumsum(-1) - each
    blocked = before >= p
    blocked[..., 0] = False
    at_home = blocked.scatter(-1, places, blocked)
    return logits.masked_fill(at_home, -torch.inf)
    ### END SOLUTION


# %%
check("11.E", top_p_filter)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Probabilities .5, .3, .2 and p = .7. Which tokens stay? How much is gathered *before*
# each of them?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `sort` gives values and places, `cumsum` running sums. `scatter(-1, places, x)` brings
# sorted entries back to where they came from.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# sort, the likeliest first; probabilities; block where the sum before a token has
# reached p; free the first; back to the old order; fill.
# </details>

# %%
show("p = 0.8", top_p_filter(torch.tensor([[0.0, 2.0, -1.0, 1.0]]), 0.8))

# %%
for whose, keep in (("yours", top_p_filter), ("course", sampling.top_p_filter)):
    lost = keep(rows["You don"], 1.0).isinf().sum().item()
    print(f"after 'You don', p = 1, {whose}: {lost} of {len(tokenizer)} blocked")

# %% [markdown]
# A sum in float32 that begins with the likeliest token reaches 1 early, by rounding;
# what comes after it is blocked even with p = 1. The library and the course's version
# begin with the unlikeliest, where nothing gets lost. Both pass the check.

# %%
show_figure(
    draw.nuclei({name: row[0].softmax(-1) for name, row in rows.items()}, p=0.9, k=50),
    "Sorted probabilities of the 1000 likeliest tokens for two beginnings. After 'You "
    "don' the nucleus of 0.9 is one token; after 'If True, the' it is hundreds. A line "
    "marks k = 50.",
)

# %% [markdown] slide="subslide"
# Now turn all three knobs at once. The outlines are what the model says, the bars are
# what is drawn from, and the column on the right holds ten draws, made with the same
# random numbers each time. Take top-p to 1 and the temperature to 2, and read the ten:
# the orange bar, the tail, has taken over. Leave the temperature there and find a top-k
# and a top-p that give you words you would let stand. Then keep your settings and
# change the beginning, first to *You don*, then to *If True, the*. Does your k still
# fit? Does your p?

# %%
play(draw.choosing({prompt: last, **rows}, pieces))

# %% [markdown] slide="subslide"
# ### The same as the library's?
#
# Your filters so far, or the course's where a check has not passed yet, beside the
# processors of `transformers`, on random scores. What has to agree are the
# probabilities: a constant on top of all scores of a row changes none of them.

# %%
mine = OwnParts()
mine.take("11.A", greedy)
mine.take("11.C", apply_temperature)
mine.take("11.D", top_k_filter)
mine.take("11.E", top_p_filter)

# %% tags=["nbval-check-output"]
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

random = 3 * torch.randn(4, 50, generator=torch.Generator().manual_seed(1))  # (B, V)
pairs = {
    "temperature": (mine.apply_temperature, TemperatureLogitsWarper, (0.3, 1.7)),
    "top-k": (mine.top_k_filter, TopKLogitsWarper, (1, 7, 50, 60)),
    "top-p": (mine.top_p_filter, TopPLogitsWarper, (0.0, 0.4, 0.95, 1.0)),
}
for name, (ours, theirs, settings) in pairs.items():
    same = []
    for x in settings:
        wanted = theirs(x)(None, random).softmax(-1)
        shares = ours(random, x).softmax(-1)
        same.append(torch.allclose(shares, wanted, rtol=1e-3, atol=0.0))
    print(f"{name:12} {settings}: {same}")

# %% [markdown] slide="slide"
# ## A case for a detective
#
# A published notebook asks GPT-2 for a hundred tokens, with
# `no_repeat_ngram_size=2` to stop it from going round in circles. In the printed sample
# the word *don't* occurs three times, and it is spelt three different ways. GPT-2 can
# spell. What happened?

# %% [markdown]
# The case can be reproduced here. A beginning in which *don't* has occurred once, and
# is due again: six continuations without the setting, six with it.

# %%
scene = "You don't need this option if you don"
begun = tokenizer(scene, return_tensors="pt").input_ids
for n in (0, 2):
    how = sampling.Settings(0.7, 50, 0.95, no_repeat_ngram_size=n)
    seed = torch.Generator().manual_seed(1)
    print(f"no_repeat_ngram_size = {n}")
    rows_of_text = sampling.sample(model, begun.repeat(6, 1), 7, how, seed)
    for row in rows_of_text:
        print("  ...", repr(tokenizer.decode(row[7:])))
    spelt = [tokenizer.decode(row[9:]).startswith("'t") for row in rows_of_text]
    if bundled:
        assert all(spelt) if n == 0 else not any(spelt)

# %%
print([tokenizer.decode([one]) for one in begun[0].tolist()])

# %% [markdown]
# Without the setting all six are right. With it none is. To find out why, build the
# weapon yourself.

# %% [markdown] exercise="11.F"
# No run of n tokens may be written twice. Block each token that would complete a run
# which stands in the text already. Each row of the batch has its own past.


# %% exercise="11.F"
def no_repeat_ngram_filter(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    """Block every token that would write a run of n tokens for the second time.

    Args:
        logits: (B, V), scores of the next token
        ids: (B, T), the text so far, prompt included
        n: at least 1; T may be smaller, then nothing is blocked

    Returns:
        (B, V), the same scores, minus infinity where blocked
    """
    scores = logits.clone()
    ### BEGIN SOLUTION
    for row, text in enumerate(ids.tolist()):
        last = text[len(text) - n + 1 :]
        for start in range(len(text) - n + 1):
            run = text[start : start + n]
            if run[:-1] == last:
                scores[row, run[-1]] = -torch.inf
    return scores
    ### END SOLUTION


# %%
check("11.F", no_repeat_ngram_filter)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# The text is *a b c a*, and n = 2. Which runs of two stand there? Which token would
# write one of them again?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The next run consists of the last n − 1 tokens of the text and the new one. Look for
# the same n − 1 tokens earlier. Mind n = 1: then there are none to compare.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# for each row: its ending of n − 1 tokens; for each run of n in the row: if it begins
# like the ending, block its last token.
# </details>

# %%
show(
    "after a b c a",
    no_repeat_ngram_filter(torch.zeros(1, 4), torch.tensor([[0, 1, 2, 0]]), 2),
)

# %% [markdown] exercise="11.G" slide="subslide"
# **Solve the case.** Which pair of tokens was used up, so that the model could not
# write it again? Give the texts of both tokens, spaces included, as a tuple like `("a",
# "b")`.

# %% exercise="11.G"
### BEGIN SOLUTION
forbidden = (" don", "'t")
### END SOLUTION

# %%
check("11.G", forbidden)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# In the list of tokens above, what follows *don* the first time?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# A token keeps the space in front of it, and a word may consist of two tokens.
# </details>

# %%
before = sampling.next_logits(model, begun)  # (B=1, V)
after = sampling.no_repeat_ngram_filter(before, begun, 2)
for name, scores in (("free", before), ("no pair twice", after)):
    shares, best = scores[0].softmax(-1).topk(4)
    print(
        f"{name:14}", dict(zip(pieces(best), [f"{x:.3f}" for x in shares], strict=True))
    )
if bundled:
    assert before.softmax(-1).max() > 0.99

# %% [markdown]
# The model was sure, and the sure thing was forbidden. Then something had to be
# written. OpenAI's GPT-2 knows other signs that look like an apostrophe, and takes one
# after the other. A rule about tokens does not know about words: with n = 3 or 4 the
# same rule does less harm.

# %% [markdown] slide="slide"
# ## Beam search: the likeliest text?
#
# Greedy takes the best token, not the best text. A **beam** of width w keeps the w
# likeliest beginnings (you used one in lesson 06). By hand, two tokens long, w = 2:

# %% tags=["nbval-check-output"]
first = torch.tensor([0.5, 0.4, 0.1])  # a, b, c
second = torch.tensor([[0.4, 0.3, 0.3], [0.9, 0.05, 0.05], [0.3, 0.3, 0.4]])
show("both tokens", first[:, None] * second)
show("greedy: a, then a", first[0] * second[0].max())
show("beam of 2: b, then a", first[1] * second[1].max())

# %%
show_figure(
    draw.beam_tree(first, second, "abc", width=2),
    "A tree of two steps. From the start a (0.5), b (0.4) and c (0.1). Below a the "
    "best is aa with 0.20, below b ba with 0.36. The beam keeps a and b, then ba and "
    "aa; greedy keeps a, then aa.",
)

# %% [markdown]
# Probabilities of a text are multiplied, and become tiny. So add logarithms. A text
# that has written `end` is finished: it keeps its place and its sum, while others go
# on.

# %% [markdown]
# At last finished texts of different lengths meet. Every further token makes a sum
# smaller, so the sum likes short texts best: an empty one is hard to beat. The usual
# repair is the **mean**: the sum divided by the number of *new* tokens.

# %% [markdown] exercise="11.H"
# Write beam search for one prompt. In each round, every unfinished text is continued by
# every token; of all candidates, finished ones included, the `width` with the highest
# **sum** go on. At the end the one with the highest **mean** wins.


# %% exercise="11.H"
@torch.no_grad()
def beam_search(
    model, ids: Tensor, max_new_tokens: int, width: int, end: int | None = None
) -> tuple[Tensor, float]:
    """Look for the likeliest continuation, `width` texts at a time.

    Args:
        model: model(ids).logits are scores (B, T, V)
        ids: (1, T), the prompt
        max_new_tokens: how many tokens are added at most
        width: how many texts go on after each round
        end: the token that finishes a text when it is written; None: none does

    Returns:
        (1, T + n), prompt and new tokens, `end` the last one if it was written;
        the mean of the log-probabilities of the n new tokens, `end` included
    """
    beams = [(0.0, ids)]  # pairs of sum and text (1, T)
    ### BEGIN SOLUTION
    for _ in range(max_new_tokens):
        found = []
        for total, text in beams:
            if text.shape[1] > ids.shape[1] and text[0, -1] == end:
                found.append((total, text))
                continue
            log_p = model(text).logits[0, -1].log_softmax(-1)  # (V)
            values, tokens = log_p.topk(min(width, len(log_p)))
            for value, token in zip(values.tolist(), tokens, strict=True):
                longer = torch.cat([text, token.view(1, 1)], dim=1)
                found.append((total + value, longer))
        beams = sorted(found, key=lambda beam: beam[0], reverse=True)[:width]
    means = [(total / (text.shape[1] - ids.shape[1]), text) for total, text in beams]
    mean, text = max(means, key=lambda beam: beam[0])
    return text, mean
    ### END SOLUTION


# %%
check("11.H", beam_search)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# What do you have to remember of each text to compare it with others later? Start with
# a list that holds one such pair.
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# No text can give more than `width` of the next `width`, so `topk(width)` of each is
# enough. `sorted` takes a `key` and `reverse=True`.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# repeat: a list of candidates; for each beam: finished, then take it over as it is;
# else its best continuations with sum + log-probability; keep the best `width`. At last
# divide by the number of new tokens and take the best.
# </details>

# %%
found, mean = beam_search(model, ids, 20, 4, tokenizer.eos_token_id)
print(f"{mean:.3f} per token: {tokenizer.decode(found[0])}")

# %% [markdown] slide="subslide"
# ### Token for token
#
# Greedy and beam on 20 prompts, yours if they pass, against `model.generate`. With
# `eos_token_id=None` nothing ends a text, so all have the same length.

# %%
mine.take("11.H", beam_search)
library = {"do_sample": False, "max_new_tokens": 8, "pad_token_id": 0}
endless = library | {"eos_token_id": None}
begun = [tokenizer(one, return_tensors="pt") for one in PROMPTS]

# %%
equal = {"greedy": 0, "beam of 3": 0}
for one in begun:
    ours = mine.greedy(model, one.input_ids, 8)
    equal["greedy"] += torch.equal(ours, model.generate(**one, **endless))
    ours, _ = mine.beam_search(model, one.input_ids, 8, 3)
    theirs = model.generate(**one, **endless, num_beams=3)
    equal["beam of 3"] += torch.equal(ours, theirs)
print(f"the same tokens on {len(begun)} prompts:", equal)
if bundled:
    assert set(equal.values()) == {len(begun)} and len(begun) >= 20

# %% [markdown]
# **The length rule.** Let texts end, and the two part company in some cases. Both
# divide by the length at the end. But the library takes finished texts out of the beam,
# so that others can take their places, and it stops by a rule of its own. Neither is
# wrong; they are different searches.

# %%
eos, same = tokenizer.eos_token_id, 0
for one in begun:
    ours, _ = continue_text(model, one.input_ids, 16, 3, eos)
    longer = library | {"max_new_tokens": 16, "num_beams": 3}
    same += ours[0].tolist() == model.generate(**one, **longer)[0].tolist()
print(f"with an end: the same on {same} of {len(begun)} prompts")

# %% [markdown] slide="slide"
# ## All together: generate a text
#
# The settings of the published notebook: one text (`num_return_sequences=1`) of at most
# 100 tokens, temperature 0.7, top-k 50, top-p 0.95, no pair of tokens twice. The order
# of `transformers`: n-grams, temperature, top-k, top-p, draw.

# %% [markdown] exercise="11.J"
# Write `generate_text`, from prompt to text. Use your own filters or those of
# `helpers.generation.sampling`. Draw with `torch.multinomial` and the generator that is
# given, so that the same seed writes the same text. Stop at the end token.


# %% exercise="11.J"
@torch.no_grad()
def generate_text(
    model,
    tokenizer,
    prompt: str,
    max_new_tokens: int = 100,
    temperature: float = 0.7,
    top_k: int = 50,
    top_p: float = 0.95,
    no_repeat_ngram_size: int = 2,
    generator: torch.Generator | None = None,
) -> str:
    """Continue a prompt with tokens that are drawn at random.

    Args:
        model: model(ids).logits are scores (B, T, V)
        tokenizer: tokenizer(text, return_tensors="pt").input_ids; decode; eos_token_id
        prompt: the beginning
        max_new_tokens: how many tokens are added at most
        temperature: divides the scores, as in 11.C
        top_k: how many of the most likely tokens are kept, as in 11.D
        top_p: the probability that the kept tokens have together, as in 11.E
        no_repeat_ngram_size: no run of this many tokens occurs twice, as in 11.F
        generator: where the randomness comes from

    Returns:
        The text, prompt included, without special tokens.
    """
    ids = tokenizer(prompt, return_tensors="pt").input_ids  # (B=1, T)
    ### BEGIN SOLUTION
    for _ in range(max_new_tokens):
        scores = model(ids).logits[:, -1]  # (B=1, V)
        scores = sampling.no_repeat_ngram_filter(scores, ids, no_repeat_ngram_size)
        scores = sampling.apply_temperature(scores, temperature)
        scores = sampling.top_p_filter(sampling.top_k_filter(scores, top_k), top_p)
        token = torch.multinomial(scores.softmax(-1), 1, generator=generator)
        ids = torch.cat([ids, token], dim=1)
        if token.item() == tokenizer.eos_token_id:
            break
    return tokenizer.decode(ids[0], skip_special_tokens=True)
    ### END SOLUTION


# %%
check("11.J", generate_text)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Your greedy loop had three steps. Which one changes, and what comes before it?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Which ids does the n-gram filter need in the tenth round? `decode` has an argument
# `skip_special_tokens`.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# ids of the prompt; repeat: last scores, four filters in their order, softmax, draw
# one, append, stop at the end; decode.
# </details>

# %%
for seed in range(3):
    seeded = torch.Generator().manual_seed(seed)
    print(
        f"seed {seed}:", generate_text(model, tokenizer, prompt, 40, generator=seeded)
    )

# %% [markdown]
# One prompt, three texts. In the source notebook the seed was set sixty cells before,
# so its sample comes back only if all cells before it run in the same order. With a
# generator of its own, a text depends on its seed alone.

# %% tags=["nbval-check-output"]
how = sampling.Settings(0.7, 50, 0.95, 2)
same = [
    sampling.sample(model, ids, 12, how, torch.Generator().manual_seed(5)).tolist()
    for _ in range(2)
]
print("same seed, same text:", same[0] == same[1])

# %% [markdown] slide="slide"
# ## Many prompts at once: padding on the left
#
# Prompts of a batch differ in length, so short ones are padded. GPT-2's tokenizer has
# **no padding token**, and says so. Where would the padding go? The next token follows
# the last place: so the padding belongs on the left.

# %% tags=["nbval-check-output"]
some = [PROMPTS[0], PROMPTS[3], "The"]
try:
    tokenizer(some, padding=True)
except ValueError as error:
    print(f"{type(error).__name__}: {str(error).split('. ')[0]}.")
ids_of_some, mask = pretrained.left_padded(tokenizer, some)  # (B, T) each
print(mask.int())

# %% [markdown]
# Two things keep a prompt from noticing its padding. The mask hides the padding from
# attention. And **positions**: GPT-2 adds a learned vector for each place. Alone, the
# prompt began at place 0, so it has to begin at 0 here.

# %% [markdown] exercise="11.K"
# Write the positions of a left-padded batch. A padded place may have any position, as
# long as the model has it: from 0 to T − 1.


# %% exercise="11.K"
def positions_of(mask: Tensor) -> Tensor:
    """Count each prompt's places from its own first token.

    Args:
        mask: (B, T), boolean, True = a real token; padding is on the left

    Returns:
        (B, T), whole numbers from 0 to T - 1; the first real token of a row has 0
    """
    ### BEGIN SOLUTION
    counted = mask.long().cumsum(-1)
    return (counted - 1).clamp(min=0)
    ### END SOLUTION


# %%
check("11.K", positions_of)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# What does a running sum along a row of the mask count?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Look at the padding: is its number one that a table of T rows has? `clamp` helps.
# </details>

# %%
print(positions_of(mask))

# %%
alone = [
    sampling.greedy(model, tokenizer(one, return_tensors="pt").input_ids, 8)[0, -8:]
    for one in some
]
ways = {
    "left, mask and positions": sampling.greedy(model, ids_of_some, 8, mask),
    "left, without a mask": sampling.greedy(model, ids_of_some, 8),
}
rows = [tokenizer(one).input_ids for one in some]
longest = max(map(len, rows))
right = torch.tensor([row + [eos] * (longest - len(row)) for row in rows])
ways["right, without a mask"] = sampling.greedy(model, right, 8)

# %%
for way, written in ways.items():
    same = [torch.equal(a, b) for a, b in zip(alone, written[:, -8:], strict=True)]
    print(f"{way:26} as if alone: {same}")
    if bundled:
        assert all(same) == (way == "left, mask and positions")

# %% [markdown]
# No error, and no warning from the model: only other texts. `tokenizer.encode(prompt)`
# gives ids and drops the mask; calling the tokenizer gives both. `model.generate` works
# the positions out from the mask; `model(ids, attention_mask=...)` alone does not.

# %% [markdown] slide="subslide"
# ### The empty tokenizer
#
# One more silent trap. Somebody copied a checkpoint, but forgot the tokenizer's file.
# What would you expect from the next cell?

# %%
from transformers import AutoTokenizer

with tempfile.TemporaryDirectory() as copied:
    for name in ("config.json", "tokenizer_config.json"):
        if (Path(pretrained.path("gpt2")) / name).exists():
            shutil.copy(Path(pretrained.path("gpt2")) / name, copied)
    broken = AutoTokenizer.from_pretrained(copied)
print(f"{len(broken)} token in all; {prompt!r} becomes {broken(prompt).input_ids}")

# %% [markdown]
# An error, surely? `transformers` 5 makes an empty tokenizer, without a complaint.
# Every text becomes no tokens at all. `helpers.pretrained` looks at the number of
# tokens after loading, and a `len(tokenizer)` costs you nothing either.

# %% [markdown] slide="slide"
# ## Perplexity: how surprised is the model?
#
# $$\mathrm{perplexity} = \exp\Big(-\frac{1}{T-1} \sum_{t=2}^{T} \log p(x_t \mid
# x_{<t})\Big)$$
#
# Of how many equally likely tokens did the model choose, on average? 1 would be perfect
# foresight, the size of the vocabulary plain guessing.

# %% [markdown] exercise="11.L"
# Compute it for one text. The first token has nothing before it and is not predicted.


# %% exercise="11.L"
@torch.no_grad()
def perplexity(model, ids: Tensor) -> float:
    """How surprising a text is for a model, per token.

    Args:
        model: model(ids).logits are scores (B, T, V)
        ids: (1, T), at least two tokens

    Returns:
        exp of the mean of -log p over all tokens but the first
    """
    ### BEGIN SOLUTION
    log_p = model(ids).logits[:, :-1].log_softmax(-1)  # (B=1, T - 1, V)
    each = log_p.gather(-1, ids[:, 1:, None])  # (B=1, T - 1, 1)
    return (-each.mean()).exp().item()
    ### END SOLUTION


# %%
check("11.L", perplexity)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Row t of the scores predicts token t + 1. Which row has nothing to predict, and which
# token no row?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `F.cross_entropy` is the mean of −log p already; it wants the vocabulary on axis 1. Or
# use `log_softmax` and `gather`.
# </details>

# %%
print(f"{perplexity(model, ids):.1f} for {prompt!r}")

# %%
texts = {
    "a manual": "If the file is damaged, an error is raised before it is read.",
    "its words, shuffled": "read error file If is the, is before it raised damaged an.",
    "a story": "The old man walked down to the river and thought about his daughter.",
}
measured = {
    name: sampling.perplexity(model, tokenizer(text, return_tensors="pt").input_ids)
    for name, text in texts.items()
}
for name, value in measured.items():
    print(f"{name:20} {value:7.1f}")
if bundled:
    assert measured["a manual"] < measured["its words, shuffled"]
    assert measured["a manual"] < 100 < measured["a story"]

# %% [markdown]
# On manuals that it never saw, its makers measured 59.55 per token. A story is another
# language to it. Compare perplexities only between models with the same tokens: the
# number is *per token*, and with other tokens the same text has another number of them.

# %% [markdown] slide="subslide"
# ### Is likelier better?
#
# The same beginning, written by a person, by greedy search, and by lot. Each bar is a
# token, its height the surprise, −log p.


# %% slide="skip"
def surprises(ids: Tensor) -> Tensor:
    """-log p of every token but the first, (T - 1)."""
    with torch.no_grad():
        scores = model(ids).logits[:, :-1]
    return F.cross_entropy(scores.mT, ids[:, 1:], reduction="none")[0]


by_person = (
    "This method is called when the user closes a window, so that files can be saved."
)
start = tokenizer("This method is called when", return_tensors="pt").input_ids
usual = sampling.Settings(0.7, 50, 0.95, 2)
written = {
    "a person": tokenizer(by_person, return_tensors="pt").input_ids,
    "greedy": sampling.greedy(model, start, 14),
    "the usual settings": sampling.sample(
        model, start, 14, usual, torch.Generator().manual_seed(0)
    ),
    "the bare model": sampling.sample(
        model, start, 14, sampling.Settings(), torch.Generator().manual_seed(0)
    ),
}

# %%
bars = {
    f"{who}: perplexity {sampling.perplexity(model, one):.1f}": (
        pieces(one[0, 1:]),
        surprises(one),
    )
    for who, one in written.items()
}
show_figure(
    draw.surprise_bars(bars),
    "Four texts as rows of bars, one per token. The person's bars jump up and down. "
    "Greedy's are low throughout. The bare model's are as high as the person's, the "
    "usual settings lie between.",
)

# %% slide="skip"
values = {who: sampling.perplexity(model, one) for who, one in written.items()}
if bundled:
    assert values["greedy"] < values["the usual settings"] < values["the bare model"]
    assert values["a person"] > 2 * values["greedy"]

# %% [markdown]
# People do not write the likeliest words: who says what everyone expects says nothing.
# So the likeliest text is the dullest one, and temperature, k and p look for a middle
# way. They make no text true.

# %% [markdown]
# One more trap while measuring: `train()` and `eval()`. With dropout on, the model is
# worse and not the same twice.

# %%
text = tokenizer(texts["a manual"], return_tensors="pt").input_ids
with torch.random.fork_rng():
    torch.manual_seed(0)
    model.train()
    noisy = [sampling.perplexity(model, text) for _ in range(8)]
    model.eval()
steady = sampling.perplexity(model, text)
print(
    f"eval: {steady:.1f}   train: {sum(noisy) / 8:.1f} on average of 8, all different"
)
assert len(set(noisy)) == 8 and steady == sampling.perplexity(model, text)

# %% [markdown] slide="slide"
# ## What feedback adds
#
# A language model continues texts. Ask it a question, and it may continue with more
# questions: that is what texts do. To make a helper of it, people compare its answers,
# a second model learns to predict what they prefer, and the first is trained to please
# the second. This is RLHF: reinforcement learning from human feedback. The second model
# stands in for people, and it errs: what pleases it need not be good.

# %% [markdown]
# A common short story says that this was the secret of GPT-3 and GPT-4, that GPT-3 read
# the whole internet, and that such a model is a stack of encoders and decoders. The
# first is wrong for GPT-3, and the other two are wrong altogether. GPT-3 (2020) had no
# RLHF; InstructGPT and ChatGPT (2022) did, and so did GPT-4 (2023; section 2 of its
# report).

# %% [markdown]
# GPT-3 saw 300 billion tokens: filtered Common Crawl, WebText2, two sets of books,
# Wikipedia (its paper, table 2.2). Of GPT-4's data its report says only that they are
# public and licensed ones. And GPT-3 is built as GPT-2 is, of decoder layers only: you
# saw that above.

# %% [markdown] exercise="11.M"
# **What does RLHF add to a model that was trained on next tokens alone, and what does
# it not add?** Name the steps, say what each is trained on, and one thing that can go
# wrong. Eight sentences or so.

# %% [markdown] answer="11.M"
# ### BEGIN SOLUTION
# **Model answer.** Pretraining teaches which token is likely to follow, in texts of all
# kinds; it does not ask whether an answer is helpful or true. RLHF starts from such a
# model, usually after some fine-tuning on good answers that people wrote. Then the
# model writes several answers to a prompt, and people say which one they prefer. A
# reward model learns to predict these preferences; it is trained on comparisons, not on
# texts. At last the language model is trained to get a high reward, with a penalty for
# moving far from where it started, measured by how much the probabilities differ. What
# is added is a goal for whole answers: following an instruction, tone, saying no. What
# is not added is knowledge: hardly any new text was read. What can go wrong: the reward
# is a stand-in for what people want, and the model finds answers that please it without
# being good, such as long, flattering or confident ones. GPT-3 had none of this;
# InstructGPT did.
#
# **Rubric (3 points).** 1: the steps, with comparisons by people, a reward model, and
# training towards the reward. 1: adds a goal for whole answers, not knowledge. 1: one
# real danger: reward is a proxy (over-optimisation, flattery, length), raters disagree,
# or drift from the original model without the penalty.
# ### END SOLUTION

# %% [markdown] slide="subslide"
# ### Optional: best of n
#
# The simplest use of a reward needs no training at all: write n texts, keep the one
# that a second model likes best. Ours learned stars from reviews. It is the best bag of
# words of lesson 09: worse than a fine-tuned encoder, but ready in a second. It knows
# nothing about manuals, and that is the point: watch what it rewards.

# %%
reader = StarReader()
print(f"exactly the right stars for {reader.accuracy():.0%} of the held-out reviews")
likes = reader(["It works like a charm, wonderful.", "It is a terrible waste of time."])
print("two sentences:", [f"{one:.1f} stars" for one in likes.tolist()])
assert reader.accuracy() > 0.4 and likes[0] > likes[1]

# %%
seeded = torch.Generator().manual_seed(9)
open_ended = sampling.Settings(temperature=1.0, top_p=0.95)
candidates = {}
for one in PROMPTS[:8]:
    start = tokenizer(one, return_tensors="pt").input_ids.repeat(16, 1)
    many = sampling.sample(model, start, 12, open_ended, seeded)  # (16, T)
    candidates[one] = many, reader(tokenizer.batch_decode(many))

# %%
counts = (1, 2, 4, 8, 16)
best_of = torch.stack(
    [torch.stack([got[:n].max() for _, got in candidates.values()]) for n in counts]
)  # (n, prompts)
stars = [round(x, 2) for x in best_of.mean(1).tolist()]
print("mean stars of the best of n:", dict(zip(counts, stars, strict=True)))
assert stars == sorted(stars) and stars[-1] > stars[0]

# %%
show_figure(
    draw.best_of(counts, best_of),
    "Stars of the chosen text against n, from 1 to 16: a thin line for each of eight "
    "beginnings and a thick one for their mean. All rise or stay level.",
)

# %%
for one in list(candidates)[:4]:
    many, got = candidates[one]
    for name, place in (("most", got.argmax()), ("fewest", got.argmin())):
        print(f"{name:6} {got[place]:.1f}  {tokenizer.decode(many[place])!r}")

# %% [markdown]
# The reward rises with n, as it must: it is what was chosen by. Are the texts better?
# Read the most and the fewest stars again. A reward model gives you what it rewards,
# here words that occur in friendly reviews. Nobody asked it whether a sentence is true,
# or means anything. Choosing by a number gets you the number.

# %% [markdown] slide="slide"
# ## What you can now do
#
# - Turn scores into text in six ways, and say what each setting costs.
# - Prove your code equal to a library's, edge cases included.
# - Read a strange sample like a detective: which rule made the model write this?
# - Measure perplexity, and know why the likeliest text is not the best one.
#
# This was the last lesson. You have built every part of what is at work in a large
# language model, from the embedding to the next word. What is left is size.

# %% [markdown] slide="skip"
# **References.** Radford et al. 2019, *Language Models are Unsupervised Multitask
# Learners* (GPT-2). Brown et al. 2020 (arXiv 2005.14165), for GPT-3 and its data, table
# 2.2. Holtzman et al. 2020 (arXiv 1904.09751), *The Curious Case of Neural Text
# Degeneration*, for top-p. Fan, Lewis and Dauphin 2018 (arXiv 1805.04833), for top-k.
# Paulus, Xiong and Socher 2018 (arXiv 1705.04304), for n-gram blocking. Wu et al. 2016
# (arXiv 1609.08144), section 7, for length rules. Ouyang et al. 2022 (arXiv
# 2203.02155), InstructGPT. OpenAI 2023 (arXiv 2303.08774), the report on GPT-4. Gao,
# Schulman and Hilton 2022 (arXiv 2210.10760), on rewards that are pursued too far.
