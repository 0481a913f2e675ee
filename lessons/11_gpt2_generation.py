# %% [markdown] slide="slide"
# # 11 GPT-2: choosing the next word
#
# **A language model gives you thousands of numbers. Which word do you write?**
#
# You need: lessons 02, 05 and 06, best also 10. Time: {minutes}. Run in one go, the
# notebook takes {run time} on one core.

# %% [markdown] slide="notes"
# **1 minute.** Say: in lesson 10 you built a GPT. Today you decide what it writes.
#
# Ask: why does a chatbot give you a different answer when you ask again?
#
# Expect: "it is random". Which part of it? The model's numbers are the same each time.

# %% [markdown] slide="slide"
# ## One beginning, seven endings
#
# > Anna put the ball in the ...
#
# Where will it be? Say a word before you read on.

# %% [markdown] slide="notes"
# **3 minutes.** Ask: which of the seven would you let a child read? Which one is
# broken, and at which word does it break?
#
# Expect: everybody finds temperature 2. Few see that the first two tell the same story.
#
# Say: one model, one beginning, seven ways to choose. You will write all of them, the
# beam only if you like.

# %% [markdown] slide="skip"
# There are many good answers, and a language model does not choose one. It gives every
# token of its vocabulary a number, and then somebody has to pick. You might take the
# token with the highest number, or roll dice, or roll dice among the best ten, and this
# choice decides whether you read a story, a dull text or a heap of words. Below, one
# small GPT-2 continues this one beginning in seven ways. The weights are the same each
# time, and so is the beginning. Before you run the cells, guess from the names: which
# of them will read worst?

# %%
import shutil
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers import pretrained, show
from helpers.checks import check
from helpers.corpora.stories import load_stories
from helpers.figures import generation as draw
from helpers.figures import show_figure
from helpers.figures.play import play
from helpers.generation import sampling, ways
from helpers.generation.rewards import EndingReader
from helpers.student.own_parts import OwnParts

_ = torch.manual_seed(11)

# %%
model = pretrained.load_gpt2("storyteller")
tokenizer = pretrained.load_tokenizer("storyteller")
prompt = "Anna put the ball in the"
print(ways.side_by_side(model, tokenizer, prompt, seed=1))

# %% [markdown] slide="skip"
# Read them aloud; the names are explained further on. Greedy search and the beam put
# the ball into different bags and then tell of the same trip in a boat. At temperatures
# 0.3 and 1 the sentences make sense. At 2 the model draws with the same random numbers
# and is lost at once: it writes words that do not exist, and sentences without meaning.
# Top-k and top-p write here just what temperature 1 writes. All this is one model, and
# none of its weights has changed. So a strange text may come from a bad model, or from
# a bad way of choosing.
#
# (The idea of continuing one prompt in many ways, and the tree of a beam further on,
# come from Patrick von Platen's blog post *How to generate text*, 2020.)

# %% [markdown] slide="skip"
# At the end of this lesson you can
#
# - write greedy search, temperature, top-k, top-p and n-gram blocking;
# - say what each of the settings of `model.generate` does, and in which order;
# - read a strange sample like a detective: which rule made the model write this?
# - measure how well a text fits a model, and say what a reward adds, and how it is
#   cheated.

# %% [markdown] slide="slide"
# ## From numbers to a token
#
# A GPT reads a text and gives every token of its vocabulary a score, its **logit**: how
# well it fits as the next one. That is all. The way from there to a word is ordinary
# code.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: where on this way is chance, and where is the model?
#
# Expect: "everywhere". The model is the first arrow, chance the last box.
#
# Say: between the two lie a few short functions. We write them from left to right.

# %%
show_figure(
    draw.pipeline(
        [" box", " bag", " tree", " sea", " of"],
        torch.tensor([5.0, 4.4, 3.6, 2.2, 1.0]),
        sampling.Settings(1.5, 4, 0.8),
    ),
    "A way from left to right. GPT-2 reads the text so far, (B, T), and gives logits, "
    "(B, V), drawn as five falling bars. Divided by a temperature of 1.5 they are "
    "lower, and closer to each other. Top-k with k = 4 crosses out the last one, top-p "
    "with p = 0.8 one more. A softmax makes probabilities of the three that are left, "
    "one token, (B, 1), is drawn and put behind the text, and the way begins again.",
)

# %% [markdown] slide="skip"
# Our model has the architecture of GPT-2 to the letter, with a fiftieth of the
# parameters of the smallest one. Like the GPT of lesson 10 it is a decoder alone. All
# it has ever read are stories told by a simulator of ours, so it knows one small world
# and no facts. In the comments on shapes, `B` is the batch, `T` the tokens so far and
# `V` the vocabulary. To **block** a token is to set its score to minus infinity, and so
# its probability to 0.

# %% slide="skip"
ids = tokenizer(prompt, return_tensors="pt").input_ids  # (B=1, T)
with torch.no_grad():
    logits = model(ids).logits  # (B=1, T, V)
size = sum(p.numel() for p in model.parameters())
print(f"{type(model).__name__}: {size:,} parameters, {len(tokenizer):,} tokens")
print("logits:", tuple(logits.shape))
assert 45 < 124_439_808 / size < 60

# %% [markdown] slide="subslide"
# There is a row of logits for every token of the text, and each row is about the token
# that comes **after** it. The last row is the one that we need.


# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: how sure is it of its best word?
#
# Expect: "quite sure". It is about one in ten, for there are many places for a ball.
#
# Say: keep the last bar in mind, and all that comes after it, the tail.


# %% slide="skip"
def pieces(ids: Tensor) -> list[str]:
    """The text of each token."""
    return [tokenizer.decode([one]) for one in ids.tolist()]


last = logits[:, -1]  # (B=1, V)
shares, likely = last[0].softmax(-1).topk(12)

# %%
show_figure(
    draw.next_tokens(pieces(likely), shares, prompt),
    "Bars of the 12 most likely next tokens after Anna put the ball in the. No bar is "
    "longer than a quarter, and they get shorter slowly.",
)
assert shares[0] < 0.25 and 0.4 < shares.sum() < 0.9

# %% [markdown] slide="slide"
# ## Greedy: always the best
#
# The simplest choice is to take the most likely token, append it, and ask again.

# %% [markdown] exercise="11.A"
# Continue each prompt of a batch by exactly `max_new_tokens` tokens. The model is one
# of `transformers`: `model(ids).logits` has the shape (B, T, V).

# %% [markdown] slide="notes"
# **5 minutes.** Say: you dictate, I type; the check below says what is wrong.
#
# Ask: which row of the logits is about the token that is not there yet?
#
# Expect: the first row, or all of them. Then a result that has lost its axis.


# %% exercise="11.A"
@torch.no_grad()
def greedy(model, ids: Tensor, max_new_tokens: int) -> Tensor:
    """Write the most likely token, again and again.

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
print(tokenizer.decode(greedy(model, ids, 40)[0]))

# %% [markdown]
# However often you run this, you get the same words. Other beginnings lead to other
# texts, but often back to the same sentences, as you will measure further on.
# (`<|endoftext|>`, if you meet it, is the token that stood between two stories in
# training.)

# %% [markdown] slide="slide"
# ## Temperature: how daring?
#
# Instead of taking the best token, draw one with the model's probabilities: this is
# **sampling**. A **temperature** τ divides the logits first:
#
# $$p_i \propto e^{z_i / \tau}$$

# %% [markdown] slide="notes"
# **2 minutes.** Ask: logits 2, 1, 0 and −1, and a temperature of 2. Does the first
# token gain or lose?
#
# Expect: it loses. By how much? From 0.64 to 0.46; below 1 it would gain.
#
# Say: the name comes from physics, where heat makes unlikely states more common.

# %% [markdown] slide="skip"
# Take four logits, 2, 1, 0 and −1. At temperature 1 each step down divides the
# probability by e, which is 2.718. What do you expect of temperature 2, where the
# steps are half as high, and of 0.5?

# %% tags=["nbval-check-output"]
four = torch.tensor([2.0, 1.0, 0.0, -1.0])
for temperature in (0.5, 1.0, 2.0):
    show(f"temperature {temperature}", (four / temperature).softmax(-1))

# %% [markdown] exercise="11.B"
# Apply the temperature to scores. Return scores again, so that other filters can
# follow.


# %% exercise="11.B"
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
check("11.B", apply_temperature)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# In the formula, what happens to $z_i$ before the exponential? Who takes the
# exponential here, you or the softmax that comes later?
# </details>

# %% [markdown] slide="subslide"
# The same twelve tokens at four temperatures. At which of them would you bet that the
# next word is none of the twelve?

# %% [markdown] slide="notes"
# **2 minutes.** Ask: where do the missing probabilities go at temperature 2?
#
# Expect: "to the smaller bars". Most go to bars that are not drawn, the tail.
#
# Say: a token of the tail is written now and then, and all that follows has to live
# with it.

# %% slide="skip"
heats = (0.3, 0.7, 1.0, 2.0)
by_heat = {heat: (last[0] / heat).softmax(-1) for heat in heats}
for heat, one in by_heat.items():
    outside = 1 - one.topk(50).values.sum()
    print(f"temperature {heat}: outside of the 50 most likely {outside.abs():.1%}")
tails = [1 - one.topk(50).values.sum() for one in by_heat.values()]
assert tails == sorted(tails) and tails[-1] > 0.5 > 5 * tails[-2]
assert 0.7 < by_heat[0.3].max() < 0.8

# %%
show_figure(
    draw.temperatures(by_heat, likely, pieces(likely)),
    "The same 12 tokens at four temperatures. At 0.3 the first has three quarters of "
    "the probability; the higher the temperature, the more level the bars, and at 2 "
    "all twelve are short, because most of the probability is with all others.",
)

# %% [markdown] slide="skip"
# At 2 you win the bet, and at 1 it would be the toss of a coin. The tokens outside of
# the 50 most likely, the **tail**, are each unlikely, but there are three and a half
# thousand, and together they are drawn about once in eleven times at temperature 1, and
# more than every other time at 2. One such word is enough: the model takes it for part
# of the story and tries to go on from there. So one would like to cut the tail off
# before the draw, and there are two common ways.

# %% [markdown] slide="slide"
# ## Top-k: the best few

# %% [markdown] exercise="11.C"
# Keep the k most likely tokens of each row and block the others. Tokens that are **as
# likely as the k-th** stay as well, because there is no reason to prefer one of them.
# And k may be 1, or larger than the vocabulary.

# %% [markdown] slide="notes"
# **4 minutes.** Ask: if you knew the score of the k-th best token, how would you find
# all that are to be blocked?
#
# Expect: `topk` gives values; then one bound for the whole batch, or a bound that has
# lost its axis. Let the check speak.
#
# Say: tokens as likely as the k-th stay, and k = 1 is the first value to test.


# %% exercise="11.C"
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
check("11.C", top_k_filter)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# If you knew the score of the k-th most likely token, how would you find out who is to
# be blocked?
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

# %% [markdown] slide="slide"
# ## Top-p: a share of the probability
#
# Which k is the right one? Here are two beginnings. Count in your head: how many words
# could come next after each of them?

# %% [markdown] slide="notes"
# **2 minutes.** Ask: for each of the two, how many words would you let through?
#
# Expect: "one or two" for the door, and as many as there are names for the girl.
#
# Say: so no k fits both. What should be the same in both, if not the number?

# %% slide="skip"
beginnings = ("He opened the", "There was a girl named")
rows = {}
for beginning in beginnings:
    begun = tokenizer(beginning, return_tensors="pt").input_ids
    rows[beginning] = sampling.next_logits(model, begun)  # (B=1, V)
    kept = sampling.top_p_filter(rows[beginning], 0.9).isfinite().sum().item()
    best = pieces(rows[beginning][0].topk(4).indices)
    ten = sampling.top_k_filter(rows[beginning], 10).softmax(-1)  # (B=1, V)
    print(f"{beginning!r}\n  needed for 90 %: {kept}; the first four {best}")
    print(f"  k = 10: the first is drawn with probability {ten.max():.2f}")
assert kept > 40

# %%
show_figure(
    draw.nuclei({name: row[0].softmax(-1) for name, row in rows.items()}, p=0.9, k=10),
    "Sorted probabilities of the 1000 most likely tokens for two beginnings. After the "
    "first one very few tokens have 0.9 together, after the second one dozens. A line "
    "marks k = 10.",
)

# %% [markdown] slide="subslide"
# After the first, *door* alone has over 90 % of the probability, and with a k of 10 two
# draws in a hundred are another token, most often *gate*. After the second, dozens are
# needed, and it cuts most of the names off. So fix not the number of
# tokens but their share: keep the smallest set of most likely tokens whose
# probabilities add up to p or more. Its size follows the model, small where it is sure
# and large where it is not. This is **top-p**, or *nucleus sampling* (Holtzman et al.
# 2020).

# %% [markdown] slide="notes"
# **2 minutes.** Say: pencils. Probabilities 0.5, 0.3, 0.2.
#
# Ask: which tokens stay with p = 0.7? And with p = 0.4?
#
# Expect: "only the first" for 0.7. It has 0.5, which is not enough; the second brings
# the sum to 0.8 and stays. With 0.4 the first alone is enough.

# %% [markdown] slide="skip"
# Take a pencil and the four logits from above. With p = 0.8, how many tokens stay at
# temperature 0.5, at 1, and at 2? The next cell prints the sums. What does it mean for
# top-p that the temperature comes first?

# %% tags=["nbval-check-output"]
for temperature in (0.5, 1.0, 2.0):
    show(f"temperature {temperature}", (four / temperature).softmax(-1).cumsum(-1))

# %% [markdown] slide="skip"
# One token, then two, then three: 0.8650, 0.8808 and 0.8985 are the first sums that
# reach 0.8. A top-k of 2 would keep two each time. So a higher temperature, which
# flattens the distribution, also makes the nucleus larger.

# %% [markdown] exercise="11.D"
# Write it. The token with which the sum reaches p is kept, and at least one token
# stays, even if p is 0. Of **equally likely** tokens, keep only as many as are needed.
# Each score stays at its own place. With p = 1 nothing would be blocked, so p is always
# below 1. In the check no sum is so close to p that rounding could decide.

# %% [markdown] slide="notes"
# **5 minutes.** Say: sort, add up, decide, and then put everything back.
#
# Ask: how much was gathered *before* each token, and why is that the better question?
#
# Expect: the token that crosses p is dropped, or the mask stays in sorted order.


# %% exercise="11.D"
def top_p_filter(logits: Tensor, p: float) -> Tensor:
    """Keep the smallest set of most likely tokens that has probability p.

    Args:
        logits: (B, V)
        p: at least 0, below 1

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
check("11.D", top_p_filter)

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
# sort, the most likely first; probabilities; block where the sum before a token has
# reached p; free the first; back to the old order; fill.
# </details>

# %% [markdown] slide="subslide"
# Now turn all three knobs at once. The outlines are the model's probabilities, the bars
# are those we draw from, and the column on the right holds ten draws, made with the
# same random numbers each time. Set top-p to 1 and the temperature to 2, and read the
# ten: the orange bar, the tail, has taken over. Leave the temperature there and find a
# top-k and a top-p that give you words you would let stand. Then keep your settings and
# change the beginning. Does your k still fit? Does your p?

# %% [markdown] slide="notes"
# **2 minutes.** Ask: temperature 2. Which rescues the text, top-k or top-p?
#
# Expect: "both". Top-k does; top-p comes after the temperature, and its nucleus grows.
#
# Say: try it now on the other beginnings.

# %%
play(draw.choosing({prompt: last, **rows}, pieces))

# %% [markdown] slide="skip"
# ### The same as the library's?
#
# The next cells compare your filters (the course's where a check has not passed yet)
# with those of `transformers`, on random scores. The probabilities have to agree.

# %% locked=true slide="skip"
mine = OwnParts()
mine.take("11.A", greedy)
mine.take("11.B", apply_temperature)
mine.take("11.C", top_k_filter)
mine.take("11.D", top_p_filter)

# %% tags=["nbval-check-output"] slide="skip"
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

random = 3 * torch.randn(4, 50, generator=torch.Generator().manual_seed(1))  # (B, V)
pairs = {
    "temperature": (mine.apply_temperature, TemperatureLogitsWarper, (0.3, 1.7)),
    "top-k": (mine.top_k_filter, TopKLogitsWarper, (1, 7, 50, 60)),
    "top-p": (mine.top_p_filter, TopPLogitsWarper, (0.0, 0.4, 0.95)),
}
for name, (ours, theirs, settings) in pairs.items():
    same = []
    for x in settings:
        wanted = theirs(x)(None, random).softmax(-1)
        same.append(torch.allclose(ours(random, x).softmax(-1), wanted, rtol=1e-3))
    print(f"{name:12} {settings}: {same}")

# %% [markdown] slide="slide"
# ## A case for a detective
#
# Somebody asks GPT-2 for a hundred tokens, with `no_repeat_ngram_size=2`, so that it
# does not go round in circles. In the printed sample the word *don't* occurs three
# times, and it is spelt in three different ways. GPT-2 can spell. What happened?

# %% [markdown] slide="notes"
# **3 minutes.** Say: read the six lines of the second half aloud, slowly.
#
# Ask: where do the donkeys come from?
#
# Expect: laughter, then "it must not write *don't* again". Why not? The rule was about
# pairs of tokens. Send them to the list of tokens.

# %% [markdown] slide="skip"
# The case can be reproduced with our model. In the beginning below *don't* has occurred
# once and is due again. The cell prints six continuations without the setting and six
# with it.

# %%
scene = '"I don\'t remember," said Anna. "I don'
begun = tokenizer(scene, return_tensors="pt").input_ids
for n in (0, 2):
    how = sampling.Settings(0.7, 50, 0.95, no_repeat_ngram_size=n)
    seed = torch.Generator().manual_seed(1)
    drawn = sampling.sample(model, begun.repeat(6, 1), 6, how, seed)
    after = tokenizer.batch_decode(drawn[:, begun.shape[1] :])
    print(f"no_repeat_ngram_size = {n}:", *(f"\n  ... I don{x}" for x in after))
    spelt = sum(text.startswith("'t") for text in after)
    assert spelt >= 5 if n == 0 else spelt == 0
print([tokenizer.decode([one]) for one in begun[0].tolist()])

# %% [markdown] slide="skip"
# Without the setting the model goes on to *don't*, with it to *donkey*. To find out
# why, write the rule yourself.

# %% [markdown] exercise="11.E"
# A run of n tokens is an **n-gram**, and none may be written twice. Block each token
# that would complete an n-gram which is in the text already. Each row of the batch has
# its own past.


# %% exercise="11.E"
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
check("11.E", no_repeat_ngram_filter)

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

# %% [markdown] exercise="11.F" slide="subslide"
# **Solve the case.** Which pair of tokens was used up, so that the model could not
# write it again? Give the texts of both tokens, spaces included, as a tuple like `("a",
# "b")`.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: in the list of tokens, what follows *don* the first time?
#
# Expect: "don't", as one word, or a pair that has lost its space.
#
# Say: a rule about tokens knows nothing of words. Which names would it break?

# %% exercise="11.F"
### BEGIN SOLUTION
forbidden = (" don", "'t")
### END SOLUTION

# %%
check("11.F", forbidden)

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
    shares, best = scores[0].softmax(-1).topk(3)
    found = zip(pieces(best), shares.tolist(), strict=True)
    print(f"{name:14}", *(f"{token!r} {share:.2f} " for token, share in found))
assert before.softmax(-1).max() > 0.9

# %% [markdown] slide="skip"
# The model was almost sure of one token, and just that one was blocked. Something had
# to be written, so it went on after *don* in the next best way. A rule about tokens
# does not know about words, so a name of two tokens can be written only once. With n =
# 4 the same rule should do less harm.

# %% [markdown] slide="slide"
# ## All together: tell me a story
#
# By now you have written every filter of the picture. Put them in the order of
# `transformers`: n-grams first, then temperature, top-k and top-p, a softmax, and a
# draw. Then give it a first sentence of your own, and let it write.

# %% [markdown] slide="notes"
# **2 minutes.** Say: this is the picture from the beginning, as a function; the lab
# writes it, with the filters that you have.
#
# Ask: give me a first sentence. Run the last cell of this section with it.
#
# Expect: a story about somebody else, soon. The world is small.

# %% locked=true slide="skip"
mine.take("11.E", no_repeat_ngram_filter)

# %% [markdown] exercise="11.G"
# The loop is given. Write what happens in it between the logits and the new token, with
# the filters of `mine`, which are yours where they have passed. Draw with
# `torch.multinomial` and the generator that is given, so that the same seed writes the
# same text. (`ids` is the text so far, and grows with the loop.)


# %% exercise="11.G"
@torch.no_grad()
def generate_text(
    model, tokenizer, prompt: str, max_new_tokens: int = 100,
    temperature: float = 0.7, top_k: int = 50, top_p: float = 0.95,
    no_repeat_ngram_size: int = 2, generator: torch.Generator | None = None,
) -> str:  # fmt: skip
    """Continue a prompt by at most `max_new_tokens` tokens, drawn at random.

    `model(ids).logits` are scores, (B, T, V). The tokenizer gives ids (B=1, T) and its
    `eos_token_id`, and decodes. The numbers are those of the filters, 11.B to 11.E.
    """
    ids = tokenizer(prompt, return_tensors="pt").input_ids  # (B=1, T)

    def next_token(logits: Tensor) -> Tensor:
        """Filter logits (B=1, V) and draw one token, (B=1, 1)."""
        ### BEGIN SOLUTION
        scores = mine.no_repeat_ngram_filter(logits, ids, no_repeat_ngram_size)
        scores = mine.apply_temperature(scores, temperature)
        scores = mine.top_p_filter(mine.top_k_filter(scores, top_k), top_p)
        return torch.multinomial(scores.softmax(-1), 1, generator=generator)
        ### END SOLUTION

    for _ in range(max_new_tokens):  # as in greedy search
        token = next_token(model(ids).logits[:, -1])
        ids = torch.cat([ids, token], dim=1)
        if token.item() == tokenizer.eos_token_id:
            break
    return tokenizer.decode(ids[0], skip_special_tokens=True)


# %%
check("11.G", generate_text)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# In the picture at the beginning, which boxes lie between the logits and the token?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Which ids does the n-gram filter need in the tenth round? What does `multinomial`
# take, scores or probabilities?
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# n-grams, temperature, top-k, top-p; softmax; draw one.
# </details>

# %% [markdown] slide="skip"
# Now write a first sentence of your own, with other settings and other seeds. What does
# the story do with a hero it has never met? Then set the n-grams to 2 and watch the
# names.

# %%
mine.take("11.G", generate_text)
beginning = "In the middle of the night Anna woke up."
for seed in range(2):
    seeded = torch.Generator().manual_seed(seed)
    told = mine.generate_text(
        model, tokenizer, beginning, 60, no_repeat_ngram_size=4, generator=seeded
    )
    print(f"seed {seed}: {told}\n")

# %% [markdown] slide="slide"
# ## Is more likely better?
#
# Greedy search always writes the most likely token, so if the model is good, why do
# anything else? Measure how likely a text is: the **surprise** of a token is −log p,
# and the **perplexity** of a text the exponential of their mean.
#
# $$\mathrm{perplexity} = \exp\Big(-\frac{1}{T-1} \sum_{t=2}^{T} \log p(x_t \mid
# x_{<t})\Big)$$

# %% [markdown] slide="notes"
# **1 minute.** Ask: what is the perplexity of a model that chooses among 3,584 tokens
# without any idea? And of one that foresees each token?
#
# Expect: 3,584, and then 0 from some. The second answer is 1.
#
# Say: compare it between models with the same tokens only.

# %% [markdown] slide="skip"
# A perplexity of 10 means that the model is as unsure as if it chose among 10 equally
# likely tokens. 1 would be perfect foresight, the size of the vocabulary plain
# guessing. (It is counted *per token*, so compare only models with the same tokens.)

# %% [markdown] exercise="11.H"
# Compute it for one text. The first token has nothing before it and is not predicted.


# %% exercise="11.H"
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
check("11.H", perplexity)

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

# %% [markdown] slide="subslide"
# Take 20 stories that the model has never read, and let it continue the first 12 tokens
# of each by 60, in our seven ways. How surprising is each continuation for the model,
# compared with what really came next? Guess an order, from the least surprising to the
# most.

# %% [markdown] slide="notes"
# **4 minutes.** Ask: order them: beam, greedy, temperature 1, temperature 2, and the
# real stories.
#
# Expect: the beam is forgotten, and the real stories are put first, "the best". They
# stand in the middle, next to temperature 1.
#
# Say: whoever writes only what everyone expects tells nothing. Then the second
# column: over half of a greedy text's phrases occur in another one.

# %% [markdown] slide="skip"
# (No person wrote these stories. Our simulator told them, like those of the training,
# and it leaves less open than a person would.) *Shared phrases* are the runs of four
# tokens in a text that another of the 20 has too.

# %% slide="skip"
held_out = [tokenizer(story.text).input_ids[:72] for story in load_stories()[-20:]]
real = torch.tensor(held_out)  # (B=20, T=72)
texts = {"the held-out stories": real} | {
    way: ways.write(model, real[:, :12], 60, how) for way, how in ways.WAYS.items()
}

surprise, runs = {}, {}
for way, written in texts.items():
    with torch.no_grad():
        scores = model(written).logits[:, :-1]  # (B, T - 1, V)
    # cross_entropy wants V on axis 1, so .mT swaps the last two axes; each: (B, T - 1)
    each = F.cross_entropy(scores.mT, written[:, 1:], reduction="none")
    surprise[way] = each[:, 11:].mean(1)  # (B,), of the last 60 tokens
    runs[way] = ways.shared_runs(written, skip=12)
    middle = surprise[way].mean().exp()
    print(f"{way:21} perplexity {middle:6.2f}   shared phrases {runs[way]:.0%}")

# %%
show_figure(
    draw.surprise_of_ways(surprise),
    "Perplexities of 20 texts for each way, as dots. The held-out stories and "
    "temperature 1 lie over the same range, beam and greedy mostly to the left of "
    "them, and temperature 2 far to the right.",
)
middle = {way: each.mean().item() for way, each in surprise.items()}
plain = middle["the held-out stories"]
assert middle["beam of 5"] < middle["greedy"] < plain < middle["temperature 2"] - 1
assert abs(middle["temperature 1"] - plain) < 0.2
assert runs["greedy"] > 0.5 and runs["the held-out stories"] < 0.15
assert runs["greedy"] > 1.5 * runs["temperature 1"]

# %% [markdown] slide="skip"
# The held-out stories are not the most likely texts. The beam surprises the model less,
# and so does greedy search, with these 20 stories as with others. But both are led from
# different beginnings to the same sentences: greedy texts share over half of their
# phrases with one another, the held-out stories about a tenth. Temperature 2
# surprises the model all the time. Temperature 1, which draws from exactly what the
# model has learned, lies close to the stories, and for a model that fits its texts this
# well there is little left for top-k and top-p to mend.
#
# Is it the same with texts that people wrote? For a larger GPT-2, Holtzman et al.
# (2020) found beam and greedy far below them in perplexity, since people rarely write
# only what everyone expects. Plain sampling lay well above, which they put down to an
# unreliable tail, and there top-k and top-p help. None of these ways makes a text true.

# %% [markdown] slide="slide"
# ## Bugs from the wild
#
# Three mistakes from published programs. Only one of them raises an error.

# %% [markdown]
# **A k of 1.** A character model squeezes away all axes of length 1 in its top-k. With
# k = 1 the axis of k is one of them, and the program stops with a `TypeError`. So test
# the smallest allowed value first. **Dropout left on.** After `model.train()` a model
# with dropout gives the same text a different perplexity each time, without a warning.
# (Ours has none, so here you would not even notice.)

# %% [markdown] exercise="11.J"
# **The length that was not meant.** A notebook calls `model.generate(ids,
# max_length=100)` with a prompt of 9 tokens. **How many new tokens does it get, at
# most?** Look `max_length` up if you like.

# %% exercise="11.J"
### BEGIN SOLUTION
new_tokens = 91  # max_length is the length of it all: 100 - 9
### END SOLUTION

# %%
check("11.J", new_tokens)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# What would `max_length=9` leave room for?
# </details>

# %% [markdown] slide="slide"
# ## Going further
#
# From here on everything is optional: rewards and how they are cheated, beam search,
# many prompts at once, and two filters that came later.

# %% [markdown]
# ### What a reward adds, and how it is cheated
#
# A language model continues texts. Ask it a question, and it may go on with more
# questions, as texts do. To turn it into an assistant, two steps are usual. In
# **supervised fine-tuning** it is trained on good answers that people wrote, with the
# same loss as before. Then people compare answers, and a second model, the **reward
# model**, learns to predict which they prefer. Training the first to get high rewards
# is called **RLHF**, reinforcement learning from human feedback (Ouyang et al. 2022).
# **Preference optimisation** such as DPO (Rafailov et al. 2023) leaves out the reward
# model and trains on the pairs themselves.

# %% [markdown]
# The simplest use of a reward needs no training at all: write n texts and keep the one
# with the highest. Suppose that our readers want happy endings. The reward model is a
# bag of words from lesson 09, which has learned from 300 of the bundled stories, and
# looks at the last 50 words. How much more will the best of 16 get than a single text?

# %%
reward = EndingReader()
print(f"endings told apart: {reward.accuracy(reward.held_out):.0%} of 200 more stories")
starts = real[:3, :12].repeat_interleave(16, 0)  # (B=48, T=12)
many = ways.write(model, starts, 200, {}, seed=0, end=tokenizer.eos_token_id)
stories = tokenizer.batch_decode(many, skip_special_tokens=True)
happy = reward(stories).view(3, 16)
counts = (1, 2, 4, 8, 16)
best_of = torch.stack([happy[:, :n].amax(1) for n in counts])  # (n, beginnings)
print("mean reward of the best of n:")
print({n: round(x, 2) for n, x in zip(counts, best_of.mean(1).tolist(), strict=True)})
for name, at in (("highest", happy[0].argmax()), ("lowest", happy[0].argmin())):
    print(f"{name} {happy[0, at]:.2f}: ...", " ".join(stories[at].split()[-30:]))
assert reward.accuracy(reward.held_out) > 0.8
assert best_of[-1].mean() > happy.mean() + 0.15

# %% [markdown]
# The best of 16 gets a higher reward than a single text. By how much depends on the
# draws, because each number is a mean over three beginnings only. But has the reward
# model learned what a happy ending is, or only some words? Give it nothing but its
# favourite words. Then type a text of your own: who gets a higher reward with more
# nonsense?

# %%
salad = " ".join(reward.favourites(12))
best_real = reward([story.text for story in reward.held_out]).max()
print(f"the happiest of 200 real stories: {best_real:.3f}")
print(f"{salad!r}: {reward([salad]).item():.3f}")
assert reward([salad]) > best_real

# %% [markdown]
# A heap of words beats all 200 real stories. This is how a reward is cheated: it is
# only a substitute for what people want. Gao et al. (2022) trained on a substitute for
# a known reward, and found that in the end the substitute's rose while the known one
# fell. The usual remedy is a **KL penalty**: one subtracts β times the Kullback-Leibler
# divergence from the model that training began with. Here the mean surprise of a text
# to that model serves as a rough substitute. Which β is enough?


# %%
def penalised(text: str, beta: float) -> float:
    """The reward of a text, less beta times its mean surprise."""
    ids = tokenizer(text, return_tensors="pt").input_ids
    surprise = torch.tensor(sampling.perplexity(model, ids)).log()
    return (reward([text]).item() - beta * surprise).item()


best = stories[happy[0].argmax()]
for beta in (0.0, 0.01, 0.05):
    scores = {"salad": penalised(salad, beta), "story": penalised(best, beta)}
    print(f"beta {beta}:", {name: round(x, 2) for name, x in scores.items()})
assert scores["story"] > scores["salad"] + 0.2

# %% [markdown] exercise="11.K"
# **What does RLHF add to a model that was trained on next tokens alone, and what does
# it not add?** Name the steps, say what each is trained on, and one thing that can go
# wrong. Eight sentences or so.

# %% [markdown] answer="11.K"
# ### BEGIN SOLUTION
# **Model answer.** Pretraining teaches which token is likely to follow, in texts of all
# kinds; it does not ask whether an answer is helpful or true. RLHF starts from such a
# model, usually after supervised fine-tuning on answers that people wrote. Then the
# model writes several answers to a prompt, and people say which one they prefer. A
# reward model learns to predict these preferences; it is trained on comparisons, not on
# texts. At last the language model is trained to get a high reward, with a penalty for
# moving far from where it started. What is added is a goal for whole answers: following
# an instruction, tone, saying no. What is not added is knowledge: hardly any new text
# was read. What can go wrong: the reward is a stand-in for what people want, and the
# model finds answers that please it without being good, such as long or flattering
# ones.
#
# **Rubric (3 points).** 1: the steps, with comparisons by people, a reward model, and
# training towards the reward. 1: adds a goal for whole answers, not knowledge. 1: one
# real danger: reward is a proxy (over-optimisation, flattery, length), raters disagree,
# or drift from the original model without the penalty.
# ### END SOLUTION

# %% [markdown] slide="slide"
# ### Beam search: the most likely text?
#
# Greedy takes the best token, which need not lead to the best text. A **beam** of width
# w keeps the w most likely beginnings (you used one in lesson 06). In the tree below,
# with w = 2, which pair after *the* will greedy find, and which the beam?

# %%
words = ["sea", "old", "cat"]
first = torch.tensor([0.45, 0.40, 0.15])
second = torch.tensor([[0.25, 0.35, 0.4], [0.15, 0.05, 0.8], [0.3, 0.4, 0.3]])
show_figure(
    draw.beam_tree(first, second, [word + " " for word in words], width=2),
    "A tree of two steps. From the start sea (0.45), old (0.40) and cat (0.15). Below "
    "sea the best pair has 0.18, below old the best has 0.32. The beam keeps sea and "
    "old, then a pair below each; greedy goes by sea.",
)

# %% [markdown]
# A product of many probabilities becomes tiny, so one adds logarithms. A text that has
# written `end` keeps its place and its sum, while others go on. As every further token
# makes a sum smaller, sums favour short texts, and the usual remedy is the **mean**:
# the sum divided by the number of *new* tokens.

# %% [markdown] exercise="11.L"
# Write a round of beam search, for one prompt. Every unfinished text is continued by
# every token; of all candidates, finished ones included, the `width` with the highest
# **sum** go on. The rest is given: at the end the highest **mean** wins.


# %% exercise="11.L"
@torch.no_grad()
def beam_search(
    model, ids: Tensor, max_new_tokens: int, width: int, end: int | None = None
) -> tuple[Tensor, float]:
    """Look for the most likely continuation, `width` texts at a time.

    Args:
        model: model(ids).logits are scores (B, T, V)
        ids: (1, T), the prompt
        max_new_tokens: how many tokens are added at most
        width: how many texts go on after each round
        end: the token that finishes a text when it is written; None: none does

    Returns:
        prompt and n new tokens (1, T + n), up to `end`; their mean log-probability
    """
    beams = [(0.0, ids)]  # pairs of sum and text (1, T)

    def one_round(beams: list) -> list:
        """The best `width` of what these beams can become, and their sums."""
        ### BEGIN SOLUTION
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
        return sorted(found, key=lambda beam: beam[0], reverse=True)[:width]
        ### END SOLUTION

    for _ in range(max_new_tokens):  # round by round
        beams = one_round(beams)
    means = [(text, total / (text.shape[1] - ids.shape[1])) for total, text in beams]
    return max(means, key=lambda one: one[1])


# %%
check("11.L", beam_search)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# What has to be known of a candidate, so that it can be compared with all others?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# No text can give more than `width` of the next `width`, so `topk(width)` of each is
# enough. `sorted` takes a `key` and `reverse=True`.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# a list of candidates; for each beam: finished, then take it over as it is; else its
# best continuations with sum + log-probability; keep the best `width`.
# </details>

# %% [markdown]
# Compare greedy and beam, yours if they have passed, with `model.generate` on 20
# beginnings. (Here no token ends a text. Where one does, the library takes finished
# texts out of the beam, so that others can take their places. That is a different
# search, and neither is wrong.)

# %%
mine.take("11.L", beam_search)
library = {
    "greedy": ways.write(model, real[:, :12], 8, {"do_sample": False}),
    "beam of 3": ways.write(
        model, real[:, :12], 8, {"do_sample": False, "num_beams": 3}
    ),
}
equal = dict.fromkeys(library, 0)
for n, row in enumerate(real[:, None, :12]):  # (1, T=12)
    ours = {"greedy": mine.greedy(model, row, 8)}
    ours["beam of 3"], _ = mine.beam_search(model, row, 8, 3)
    for name, written in ours.items():
        equal[name] += torch.equal(written[0], library[name][n])
print(f"the same tokens on {len(real)} beginnings:", equal)
assert set(equal.values()) == {20}

# %% [markdown] slide="slide"
# ### Many prompts at once: padding on the left
#
# Prompts of a batch differ in length, so short ones are padded. The next token follows
# the last place, so the padding belongs on the left. The mask hides it from attention,
# and **positions** have to be counted without it: alone, the prompt began at place 0,
# so it has to begin at 0 here.

# %% tags=["nbval-check-output"]
some = [prompt, "Tom", "It was a cold morning"]
ids_of_some, mask = pretrained.left_padded(tokenizer, some)  # (B, T) each
print(mask.int())

# %% [markdown] exercise="11.M"
# Write the positions of a left-padded batch. A padded place may have any position, as
# long as the model has it: from 0 to T − 1.


# %% exercise="11.M"
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
check("11.M", positions_of)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# What does a running sum along a row of the mask count?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Look at the padding: is its number one that a table of T rows has? `clamp` helps.
# </details>

# %% [markdown]
# If the mask, the positions or the side are wrong, you get no error and no warning from
# the model, only different texts.

# %%
pad_ids = [tokenizer(one).input_ids for one in some]
alone = [sampling.greedy(model, torch.tensor([row]), 8)[0, -8:] for row in pad_ids]
longest = max(map(len, pad_ids))
eos = tokenizer.eos_token_id
right = torch.tensor([row + [eos] * (longest - len(row)) for row in pad_ids])
padded = {
    "left, mask and positions": sampling.greedy(model, ids_of_some, 8, mask),
    "left, without a mask": sampling.greedy(model, ids_of_some, 8),
    "right, without a mask": sampling.greedy(model, right, 8),
}
for way, written in padded.items():
    same = [torch.equal(a, b) for a, b in zip(alone, written[:, -8:], strict=True)]
    print(f"{way:26} as if alone: {same}")
    assert all(same) == (way == "left, mask and positions")

# %% [markdown] slide="slide"
# ### Two filters that came later

# %% [markdown] exercise="11.N"
# Top-p looks at a sum. **Min-p** (Nguyen et al. 2024) looks at each token alone, which
# stays if it is at least p times as likely as the best one. Write it. No probability in
# the check is close to its bound.


# %% exercise="11.N"
def min_p_filter(logits: Tensor, p: float) -> Tensor:
    """Keep the tokens that have at least p times the best one's probability.

    Args:
        logits: (B, V)
        p: above 0, below 1

    Returns:
        (B, V), the same scores, minus infinity where blocked
    """
    ### BEGIN SOLUTION
    shares = logits.softmax(-1)
    return logits.masked_fill(shares < p * shares.amax(-1, keepdim=True), -torch.inf)
    ### END SOLUTION


# %%
check("11.N", min_p_filter)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# How many best tokens does a batch of B rows have? Which shape does the bound need, so
# that it can be compared with (B, V)?
# </details>

# %% [markdown] exercise="11.P"
# A **repetition penalty** (Keskar et al. 2019) makes tokens that are in the text
# already less likely, without blocking them. The paper divides their scores by it.
# Write it as `transformers` does: divide scores above 0, and multiply those below, so
# that they fall too. A token that came three times is penalised once.


# %% exercise="11.P"
def repetition_penalty(logits: Tensor, ids: Tensor, penalty: float) -> Tensor:
    """Make the tokens of a text less likely to come again.

    Args:
        logits: (B, V), scores of the next token
        ids: (B, T), the text so far, prompt included
        penalty: above 1 it discourages, below 1 it encourages

    Returns:
        (B, V), scores; those of tokens that are not in the text as they were
    """
    ### BEGIN SOLUTION
    scores = logits.gather(1, ids)  # (B, T)
    scores = torch.where(scores > 0, scores / penalty, scores * penalty)
    return logits.scatter(1, ids, scores)
    ### END SOLUTION


# %%
check("11.P", repetition_penalty)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Why not divide every score? Try −4 and a penalty of 2.
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `gather` fetches the scores of the tokens of a text, `scatter` puts numbers back to
# the same places.
# </details>

# %% [markdown] slide="slide"
# ### The empty tokenizer
#
# One more silent trap. Somebody copied a checkpoint, but forgot the tokenizer's file.
# What would you expect from the next cell?

# %%
from transformers import AutoTokenizer

with tempfile.TemporaryDirectory() as copied:
    for name in ("config.json", "tokenizer_config.json"):
        if (Path(pretrained.path("storyteller")) / name).exists():
            shutil.copy(Path(pretrained.path("storyteller")) / name, copied)
    broken = AutoTokenizer.from_pretrained(copied)
print(f"{len(broken)} token in all; {prompt!r} becomes {broken(prompt).input_ids}")

# %% [markdown]
# An error, surely? But `transformers` 5 makes a tokenizer of a single token, without a
# complaint, and our prompt becomes no tokens at all. So check `len(tokenizer)` after
# loading, as `helpers.pretrained` does.

# %% [markdown] slide="slide"
# ## What you can do now
#
# You can turn logits into a text in several ways, say what each setting does and in
# which order, and have compared your code with a library's, edge cases included. You
# can read a strange sample like a detective, and have measured that real stories are
# not the most likely texts. And you know what a reward adds to a language model, and
# how it is cheated.
#
# Most of today's language models still work like this: a decoder gives every token a
# number, and a rule picks one. But in open models such as Llama most parts of the
# decoder have been replaced since GPT-2. Lesson 12 takes them one by one: RMSNorm for
# the layer norm, RoPE for the positions, SwiGLU for the feed-forward layer, and
# grouped-query attention, which makes the cache smaller.

# %% [markdown] slide="notes"
# **1 minute.** Ask: which of the settings would you choose for a poem, which for a
# telephone number?
#
# Expect: a high temperature for the poem, greedy for the number.
#
# Say: a decoder and a rule, that is still how it works. Lesson 12 replaces parts of the
# decoder.

# %% [markdown] slide="skip"
# **References.** Radford et al. 2019, *Language Models are Unsupervised Multitask
# Learners* (GPT-2). Holtzman et al. 2020 (arXiv 1904.09751), *The Curious Case of
# Neural Text Degeneration*, for top-p. Fan, Lewis and Dauphin 2018 (arXiv 1805.04833),
# for top-k. Nguyen et al. 2024 (arXiv 2407.01082), for min-p. Keskar et al. 2019 (arXiv
# 1909.05858), for the penalty. Paulus, Xiong and Socher 2018 (arXiv 1705.04304), for
# n-gram blocking. Wu et al. 2016 (arXiv 1609.08144), section 7, for length rules.
# Ouyang et al. 2022 (arXiv 2203.02155), InstructGPT, which was trained this way from
# GPT-3 (Brown et al. 2020, arXiv 2005.14165). Rafailov et al. 2023 (arXiv 2305.18290),
# for DPO. Gao, Schulman and Hilton 2022 (arXiv 2210.10760), on rewards that are
# optimised too far. Patrick von Platen 2020, *How to generate text*, a post on the blog
# of Hugging Face.
