# %% [markdown] slide="slide"
# # 09 BERT: a pretrained encoder learns to read reviews
#
# **How does a model that never saw a rating learn to give one?**
#
# You need: lesson 04. Time: {minutes}. Run in one go, the notebook takes {run time} on
# one core, much of it for the fine-tuning.

# %% [markdown] slide="notes"
# **1 minute.** Say: so far you trained every model from nothing. Today somebody else
# has done most of the work, and you teach the result your own task.
#
# Ask: who has used a model that they did not train? What did they have to add?
#
# Expect: "a prompt", "nothing". Today it is a layer of 1,925 numbers.

# %% [markdown] slide="notes"
# Start the fine-tuning cell, with all cells above it, before the class. Leave 9.B to
# 9.D, 9.F, 9.G and everything below Going further for the lab. Usual trouble: students
# tune on the test split.

# %% [markdown] slide="slide"
# ## A sentence with a hole
#
# > The [MASK] barked all night.
#
# You know the word. How? You looked at what stands on both sides of the hole, and you
# know something about the world.

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: for each sentence, which word would you write?
# Which one will a model not know that has read about everyday life?
#
# Expect: floor or chair, dog, bed; and Paris, which is the trap.
#
# Say: what it has read is what it knows. It was never told what a dog is.

# %% [markdown] slide="skip"
# Below, a small BERT fills such holes. It has learned to do so from stories and from
# sentences about everyday life, and nobody told it what a dog is. Before you run the
# cells, write down a word of your own for each hole in the four sentences, and say
# which one it will get wrong.

# %%
import random

import torch
from torch import Tensor, nn

from helpers import pretrained, show, training
from helpers.checks import check
from helpers.corpora.language import pairs as little_language
from helpers.figures import bert as draw
from helpers.figures import show_figure
from helpers.figures.training import loss_curve
from helpers.models.bert import MaskedLanguageModel
from helpers.models.encoder import Encoder
from helpers.reading import baselines, fine_tuning, reviews, small_trials
from helpers.student.own_parts import OwnParts
from helpers.text import masked_language as mlm

_ = torch.manual_seed(9)

# %% slide="fragment"
reader, guesser = pretrained.load_tokenizer("guesser"), pretrained.load_guesser()
first = {}
for sentence in ("I sat on the [MASK].", "The [MASK] barked all night.",
                 "Anna looked for the key. She looked under the [MASK].",
                 "Paris is the capital of [MASK]."):  # fmt: skip
    guesses = mlm.fill_in(guesser, reader, sentence)
    first[sentence] = guesses[0][0]
    print(sentence, "|", ", ".join(f"{word} {share:.0%}" for word, share in guesses))
assert list(first.values())[:3] == ["table", "dog", "stairs"]
assert "france" not in dict(guesses)

# %% [markdown] slide="skip"
# It knows tables, dogs and stairs. Of Paris it has never read, and names nonsense. That
# is the idea of this lesson: to guess hidden words, a model has to learn something
# about what words mean, and it can learn that only from what it has read. Now a
# sentence of your own. Can you find a hole that it fills better than you expected, and
# one where it has no idea?

# %%
yours = "The cat slept on the [MASK]."
for word, share in mlm.fill_in(guesser, reader, yours):
    print(f"{word:12}{share:6.1%}", "#" * round(50 * share))

# %% [markdown] slide="skip"
# At the end of this lesson you can
#
# - say what BERT learned before you met it, and write its training task;
# - load a checkpoint with a fresh head, and know what the fresh head knows;
# - fine-tune it, evaluate it without fooling yourself, and beat honest baselines;
# - do all this with reviews of your own, on one process or on several.
#
# **Letters in shape comments**: `B` batch (reviews), `T` tokens, `D` d_model, `V`
# vocabulary, `N` hidden tokens. With `COURSE_SOURCE=hub` the same cells take
# `bert-base-cased` and 1,000 reviews of `Yelp/yelp_review_full`; a GPU is then
# advisable. Numbers in the text are those of the bundled data.

# %% [markdown] slide="slide"
# ## Why not count the nice words?
#
# 1,075 reviews with 1 to 5 stars. They were written for this course, one by one, **by a
# language model**: no customer wrote them, and none of the shops exists.

# %% [markdown] slide="notes"
# **3 minutes.** Read one review aloud, and let them give stars by show of hands.
#
# Ask: start at three stars, add one for *great* and its like, take one off for *awful*.
# How often is that right?
#
# Expect: "half". It is no better than guessing, 20 %.
#
# Say: partly that is how these reviews were made. Who wrote your data, and why?

# %% [markdown] slide="skip"
# The **label** of a review is its number of stars minus one, 0 to 4, as in the Yelp
# reviews, which we may not copy. The data are cut into five equal parts, called
# **folds**. One fold is the test split, which a model must not see while it learns, and
# the other four are the training split. Which fold is which will matter more than you
# may think. If you have reviews of your own, put them into a CSV file with the columns
# `label` and `text`, name it below, and all cells will work on yours.

# %% slide="skip"
FOLD, OWN = 2, None  # or OWN = "my_reviews.csv", beside this notebook
dataset = reviews.load(FOLD, OWN)
bundled = pretrained.source() == "bundled" and OWN is None
print({name: len(rows) for name, rows in dataset.items()})
for row in dataset["test"].select(range(2)):
    print("\n" + row["text"])

# %% [markdown] slide="skip"
# How many stars does each review give? Write down two numbers, then run
# `[reviews.stars(label) for label in dataset["test"][:2]["label"]]` in a cell of your
# own. That is labelling by hand: at a minute each, all 1,075 would take 18 hours. The
# cheapest way is a rule that starts at three stars, adds one for each word of praise
# and takes one off for each word of blame. How often will it be right?

# %% tags=["nbval-check-output"] slide="fragment"
hits = baselines.keywords_right(dataset["test"])
keyword_accuracy = hits.mean()
print("praise:", baselines.PRAISE)
print("blame: ", baselines.BLAME)
show("accuracy of the keyword rule", keyword_accuracy, digits=3)
assert not bundled or keyword_accuracy < 0.27  # chance is 0.2
every_text = [*dataset["train"]["text"], *dataset["test"]["text"]]
used = {*baselines.PRAISE.split(), *baselines.BLAME.split()}
hit = [text for text in every_text if used & set(baselines.words_of(text))]
assert not bundled or (len(hit), len(every_text)) == (208, 1075)

# %% [markdown] slide="skip"
# With five labels that are equally frequent, guessing is right in 20 % of the cases,
# and the rule is hardly better. Do people never write *great*? They do, but these are
# not people. The language model was asked for reviews that show rather than tell, and
# only 208 of the 1,075 contain any of the 20 words. So the result says that *these*
# texts can't be judged by these 20 words. On reviews of real customers the rule may do
# much better, so try it before anything else. What a data set can teach depends on who
# wrote it, and why.

# %% [markdown] slide="slide"
# ## One encoder, read first, used for anything
#
# **BERT**: *bidirectional encoder representations from Transformers* (Devlin et al.
# 2019). It is lesson 04's encoder, trained on raw text. The labels come from the text
# itself, so the training is **self-supervised**. **ELMo**, below, is an older model
# made of two LSTMs.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: read the row *bank*. Which of the models knows, at this word, that
# money is meant?
#
# Expect: "BERT, and ELMo". ELMo's two networks meet only after both have read.
#
# Say: GPT sees *I made a* and nothing of *deposit*. In BERT every layer sees both
# sides. That is what bidirectional means, and why it can fill holes.

# %%
show_figure(
    draw.contexts(["I", "made", "a", "bank", "deposit"]),
    "Four grids: which words each word's vector may use. BERT: all. GPT: itself and "
    "everything to the left. ELMo: two LSTMs, one sees the left, one the right side.",
)

# %% [markdown] slide="skip"
# Training happens twice. First comes **pre-training**: the original read books and the
# English Wikipedia, 3,300 million words, and learned to guess what was hidden from it.
# Then you put a small new layer on top, a **head**, and train a little more on a task
# of your own, such as ratings, called the **downstream** task. This is **fine-tuning**,
# and you do it today. In the picture, what do the two heads share, and what starts from
# random numbers?

# %% slide="subslide"
show_figure(
    draw.two_heads(),
    "Six tokens, among them [CLS] and [MASK], go into one large box, BERT, and each "
    "comes out as a vector. From the vector at [MASK] an arrow leads to a masked "
    "language head and on to a score for each of V words. From all vectors lines lead "
    "to a mean, a linear layer and a score for each of five labels.",
)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: which part is pretrained, and which one starts with random
# numbers?
#
# Expect: most see it. Ask for the shapes: what does the left head get, what the right?
#
# Say: the left one reads one vector for each review, the right one a vector for each
# hole.

# %% [markdown] slide="slide"
# ## Guess the hidden words
#
# **Masked language modelling.** Select 15 % of the tokens. Of these
#
# - 80 % become `[MASK]`,
# - 10 % become a random token,
# - 10 % stay as they are.
#
# At all of them the model has to name the original, and it may look at both sides.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: why not always `[MASK]`? Think of a review.
#
# Expect: silence. Say: a review has no `[MASK]`. If any token may be a wrong one, the
# model has to keep a good vector for each.
#
# Ask: which share of *all* tokens becomes `[MASK]`? It is 12 %, not 80 %.

# %% [markdown] slide="skip"
# In the paper's example *my dog is hairy*, the word *hairy* becomes `[MASK]`, or
# *apple*, or stays *hairy*. Why such a mixture? The texts that you care about contain
# no `[MASK]`. A model that is only asked at `[MASK]` may neglect the vectors of all
# other tokens, which your head will read. If any token may be a wrong one, it has to
# keep a good vector for each.

# %% [markdown] exercise="9.A" slide="subslide"
# Write the masking. `special` marks what must never be selected: `[CLS]`, `[SEP]` and
# padding. Where the model is asked nothing, the label is −100, which `F.cross_entropy`
# skips.


# %% [markdown] slide="notes"
# **5 minutes.** Say: you dictate, I type.
#
# Ask: how many random numbers decide over one token? From which ids do the labels come?
#
# Expect: one draw for everything; then 80 % of *all* tokens become `[MASK]`. Make that
# mistake and let the check talk.


# %% exercise="9.A"
def mask_tokens(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int
) -> tuple[Tensor, Tensor]:
    """Hide some of the tokens.

    Args:
        ids: (B, T); stays as it is
        special: (B, T), boolean, True = never selected
        mask_id: the id of [MASK]
        vocab_size: V; random tokens are drawn from 0 to V - 1

    Returns:
        inputs: (B, T), what the model reads
        labels: (B, T), the original id where a token was selected, else -100
    """
    ### BEGIN SOLUTION
    #: selected = ...  # (B, T), boolean
    selected = (torch.rand(ids.shape) < 0.15) & ~special
    labels = torch.where(selected, ids, -100)
    fate = torch.rand(ids.shape)
    inputs = torch.where(selected & (fate < 0.8), mask_id, ids)
    drawn = selected & (fate >= 0.8) & (fate < 0.9)
    inputs[drawn] = torch.randint(vocab_size, ids.shape)[drawn]
    return inputs, labels
    ### END SOLUTION


# %%
check("9.A", mask_tokens)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# How many random numbers decide over one token: whether it is selected, and then?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `torch.rand(shape) < p` is True with probability p. One more draw in [0, 1) settles
# which of the three things happens: cut the interval into 0.8, 0.1 and 0.1.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# choose; labels from the untouched ids; a second draw; [MASK] where it is low; random
# ids where it lies between the two cuts; both only where chosen; nothing in place.
# </details>

# %% slide="skip"
tokenizer, encoder = pretrained.load_tokenizer(), pretrained.load_encoder()
ids, special = mlm.padded(["my dog is hairy and my cat is not"] * 3, tokenizer)
inputs, labels = mask_tokens(ids, special, tokenizer.mask_token_id, len(tokenizer))
for row, asked in zip(inputs, labels != -100, strict=True):
    print(tokenizer.decode(row), "| asked at", asked.nonzero()[:, 0].tolist())

many = ids[:1].repeat(2000, 1), special[:1].repeat(2000, 1)
inputs, labels = mask_tokens(*many, tokenizer.mask_token_id, len(tokenizer))
asked = labels != -100
hidden, same = inputs[asked] == tokenizer.mask_token_id, inputs[asked] == labels[asked]
print(f"2,000 times the same sentence: {asked.sum() / (~many[1]).sum():.1%} asked, of "
      f"these {hidden.float().mean():.1%} [MASK], {same.float().mean():.1%} as they "
      f"were, {(~hidden & ~same).float().mean():.1%} another token")  # fmt: skip

# %% [markdown] slide="slide"
# ## A head that guesses words
#
# The encoder gives D numbers for each token. To guess a word you need V scores: a
# linear layer of width D, GELU, a layer norm, then a linear layer to the vocabulary.

# %% [markdown] slide="notes"
# **1 minute.** Ask: which of the four steps changes the width? Which one has no
# weights?
#
# Expect: the last one; GELU.
#
# Say: that is exercise 9.B, two lines, in the lab. Now let it learn.

# %% [markdown] exercise="9.B" slide="subslide"
# Write what this head does with the vectors. The three layers with weights are there.


# %% exercise="9.B"
class MaskedLanguageHead(nn.Module):
    """From vectors in context to scores of all words: linear, GELU, norm, linear.

    Both linear layers have a bias.
    """

    def __init__(self, d_model: int, vocab_size: int):
        super().__init__()
        self.dense = nn.Linear(d_model, d_model)
        self.norm = nn.LayerNorm(d_model)
        self.decoder = nn.Linear(d_model, vocab_size)

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., D) -> logits (..., V)."""
        ### BEGIN SOLUTION
        activated = nn.functional.gelu(self.dense(hidden))
        return self.decoder(self.norm(activated))
        ### END SOLUTION


# %%
check("9.B", MaskedLanguageHead)

# %% [markdown] slide="skip"
# <details><summary>Hint: a pointer</summary>
#
# `nn.functional.gelu` has no weights. In which order does the sentence above the
# exercise name the four steps?
# </details>

# %% [markdown] slide="skip"
# Now train a BERT from scratch, with your masking and your head on the course's
# encoder. A real language would take too long, so take the little one of lesson 06,
# which has 377 different words and sentences such as *The knight chases the wolf
# because it is weak.* No training sentence has both *animal* and *street*. The plot has
# two lines to compare with: the loss of a model with no idea, ln V, and of one that
# knows only how **frequent** each word is. Draw the curve that you expect, then run the
# cells.

# %% slide="skip"
mine = OwnParts()
mine.take("9.A", mask_tokens)
mine.take("9.B", MaskedLanguageHead)

parts = little_language.split_pairs(little_language.sentence_pairs("de", 6000))
learned, unseen = ([pair.source for pair in part] for part in parts)
words = mlm.word_tokenizer(learned + unseen)

_ = torch.manual_seed(9)
body = Encoder(len(words), d_model=64, num_heads=4, d_ff=128, num_layers=2, dropout=0.0)
small_bert = MaskedLanguageModel(body, mine.MaskedLanguageHead, tied=False)
batches = mlm.masked_batches(learned, words, 64, seed=1, hide=mine.mask_tokens)
optimizer = torch.optim.AdamW(small_bert.parameters(), lr=5e-3)
steps = 300


def rate(step: int) -> float:
    """Up for 30 steps, then down in a straight line."""
    return 5e-3 * min(step / 30, (steps + 1 - step) / (steps - 30))


history = training.train(
    small_bert, batches, mlm.masked_loss, optimizer, steps, schedule=rate
)

# %% slide="subslide"
hidden_words = next(mlm.masked_batches(unseen, words, 200, seed=0))
small_bert.eval()
with torch.no_grad():
    loss_unseen = mlm.masked_loss(small_bert, hidden_words).item()
no_idea = float(torch.tensor(len(words)).log())
by_counts = mlm.count_loss(learned, hidden_words[1], words)
print(f"on sentences with new pairs of words: {loss_unseen:.2f}")
show_figure(
    draw.falling(history.loss, by_counts, no_idea),
    "The loss at hidden words over 300 steps. It begins at the line of no idea, "
    "crosses that of word counts within the first fifty steps, and goes on falling.",
)
assert loss_unseen < by_counts - 1 and abs(history.loss[0] - no_idea) < 0.5
assert len(words) == 377 + 5

# %% [markdown] slide="notes"
# **2 minutes.** Ask: what has it learned when it crosses the orange line? And what is
# there to learn below it?
#
# Expect: "the frequent words"; then the neighbours, and that adjectives follow *too*.
#
# Say: BERT did this for a million steps of 256 sequences, with a second task beside it.

# %% [markdown] slide="skip"
# The line of word counts is crossed early, because which words are frequent is quickly
# learned. To get as far down as this, the model has to use the words around a hole. Ask
# it about our sentence. What will it put after *too*, and what in place of *because*?

# %%
TIRED = "The animal did not cross the street because it was too tired."
for hole in ("tired", "because"):
    sentence = TIRED.replace(hole, "[MASK]")
    guessed = mlm.guesses(small_bert, words, sentence)
    print(sentence, "|", ", ".join(f"{word} {share:.0%}" for word, share in guessed))

# %% [markdown] slide="skip"
# It is almost sure of *because*, and after *too* it offers what an animal can be,
# *tired* among other things. Change `steps` to 1,000 and ask again.

# %% [markdown] slide="slide"
# ## A fresh head on a pretrained body
#
# `transformers` has a class for each kind of task. The weights of the body come from
# the **checkpoint**, the saved weights of a trained model. Those of the head don't:
# nobody has trained it for your labels.

# %% [markdown] slide="notes"
# **1 minute.** Ask: the checkpoint knows words. Where is the layer that gives stars?
#
# Expect: "in the checkpoint". It is not there, and the library draws one at random.
#
# Say: what the library says about it on loading is worth reading.

# %% [markdown] exercise="9.C" slide="subslide"
# Which class and which argument give **one of five** labels for a whole text?


# %% exercise="9.C"
def load_five(folder: str):
    """Load a checkpoint for the classification of whole texts.

    Args:
        folder: of a BERT checkpoint, or its name on the Hub

    Returns:
        A model of transformers with a head for five labels.
    """
    ### BEGIN SOLUTION
    from transformers import AutoModelForSequenceClassification

    return AutoModelForSequenceClassification.from_pretrained(folder, num_labels=5)
    ### END SOLUTION


# %%
check("9.C", load_five)

# %% [markdown] slide="skip"
# <details><summary>Hint: a pointer</summary>
#
# Run `import transformers` in a cell of your own, then type `transformers.AutoModelFor`
# and press Tab. The argument is spelt like what it counts. Load from `folder`.
# </details>

# %% [markdown] slide="skip"
# The bundled encoder is a small relative of BERT, MiniLM: 6 layers of width 384. What
# is missing from its checkpoint? The library tells you. Then ten fresh heads with two
# labels, one for each seed, read a happy sentence. How many of them will call it
# positive, and how sure will they be?

# %% tags=["nbval-check-output"] slide="subslide"
from transformers import BertForSequenceClassification

folder = pretrained.path("encoder")
with pretrained.quiet():  # no loading bar
    fresh, report = BertForSequenceClassification.from_pretrained(
        folder, num_labels=5, output_loading_info=True
    )
print("missing, so drawn at random:", sorted(report["missing_keys"]))

joy = tokenizer("I love how this transformer model works! It's amazing!",
                return_tensors="pt")  # fmt: skip
verdicts = []
for seed in range(10):
    draws = torch.Generator().manual_seed(seed)
    head = 0.02 * torch.randn(encoder.config.hidden_size, 2, generator=draws)
    with torch.no_grad():
        verdicts.append((fresh.bert(**joy).pooler_output[0] @ head).softmax(-1))
verdicts = torch.stack(verdicts)  # (seeds, labels)
print("positive in", int((verdicts.argmax(-1) == 1).sum()), "of 10 seeds")
show("largest confidence", verdicts.max(), digits=2)
assert not bundled or 0 < (verdicts.argmax(-1) == 1).sum() < 10

# %% [markdown] slide="notes"
# **2 minutes.** Ask, before you press: which weights will be missing? And what does a
# head with random weights say of a happy sentence?
#
# Expect: "negative half of the time". It is a coin, and an unsure one.
#
# Say: a tutorial printed "Positive, 0.55" here and was content. Always ask several
# seeds, and examples whose answer you know.

# %% [markdown] slide="skip"
# For this sentence a fresh head is like the toss of a coin.
#
# The encoder gives T vectors, but the head needs one for the whole text. The library's
# class takes the one at the first token, `[CLS]`. Another way is the mean of all real
# tokens, which you used for the search of lesson 04.

# %% [markdown] exercise="9.D" slide="subslide"
# Write both ways. `attention_mask` is 1 for real tokens and 0 for padding.


# %% exercise="9.D"
def first_and_mean(hidden: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
    """Two ways to one vector per text.

    Args:
        hidden: (B, T, D)
        attention_mask: (B, T), 1 = a real token

    Returns:
        first: (B, D), the vector at [CLS]
        mean: (B, D), over all real tokens, [CLS] and [SEP] among them
    """
    ### BEGIN SOLUTION
    first = hidden[:, 0]  # (B, D)
    weights = attention_mask[:, :, None].to(hidden.dtype)  # (B, T, 1)
    return first, (hidden * weights).sum(dim=1) / weights.sum(dim=1)
    ### END SOLUTION


# %%
check("9.D", first_and_mean)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# The mask has two axes, `hidden` three. Where does the third one go, so that each
# vector is multiplied by its own 0 or 1?
# </details>

# %% [markdown] slide="skip"
# Which of them suits a checkpoint depends on its training. The makers of ours trained
# it to compare sentences by the mean of their tokens, so that is what we take.
# `helpers.reading.mean_classifier`, which we shall fine-tune, is the library's class
# with a head that reads the mean.

# %% [markdown] slide="slide"
# ## Know what is easy
#
# A **bag of words** counts words and forgets their order. **Logistic regression**, a
# linear layer with a softmax, learns a weight for each word and label. With **TF-IDF**,
# a word that occurs in few reviews counts more. **Stop words** are frequent ones such
# as *the*.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: which of these would you have taken without thinking? What does a
# bag make of *not good*?
#
# Expect: two entries, *not* and *good*. With pairs of neighbours it has one of its own.
#
# Say: whoever leaves out the stop words leaves out *not*. That is 9.G, in the lab.

# %% slide="fragment"
bags = {
    name: baselines.right(name, dataset["train"], dataset["test"])
    for name in baselines.BAGS
}
for name, right in bags.items():
    print(f"{name:32} {right.mean():.1%}")
best_bag = max(bags, key=lambda name: bags[name].mean())

# %% [markdown] slide="skip"
# The best bags get about half of the reviews right, and guessing gets a fifth. But how
# sure are such numbers? With 215 other test reviews, the share of right answers would
# be a little different. The **standard error** of an accuracy p over n reviews,
# √(p (1 − p) / n), says by how much it typically differs: with p = 0.5 and n = 215, by
# 3.4 points. Nineteen times in twenty, the truth lies within two standard errors. So
# what do you make of the order of the four bags above?

# %% [markdown] slide="subslide"
# **More reviews to test on, without writing any.** Let each of the five folds be the
# test split once, and train five times. Then every review is tested once, by a model
# that has not seen it. The answers are **pooled**: counted as one large test.

# %% [markdown] slide="notes"
# **3 minutes.** Ask: 215 test reviews, 50 % right. How far off may this be? Then: how
# many reviews does one need to halve that?
#
# Expect: "1 %". It is 3.4 points, and four times as many.
#
# Say: two models that answer the same questions are compared question by question. Most
# differences cancel, so the error of the gap is smaller than one expects.

# %% slide="fragment"
splits = [reviews.load(fold, OWN) for fold in range(5)]
two = ["word counts", "word counts without stop words"]
all_folds = baselines.pooled(two, splits)
apart = all_folds[two[0]].astype(float) - all_folds[two[1]]  # 1, 0 or -1 for each
gap, error = 100 * apart.mean(), 100 * apart.std(ddof=1) / len(apart) ** 0.5
for name, right in all_folds.items():
    print(f"{name:32} {right.mean():.1%} of {len(right)} reviews")
print(f"stop words are worth {gap:.1f} points, standard error {error:.1f}")
assert not bundled or gap > 4 * error

# %% [markdown] slide="skip"
# So stop words matter: the gap is several times its standard error. But the order of
# the four bags on one fold was partly luck: pooled in the same way, TF-IDF of words and
# pairs, the third best above, comes first with 52.7 %, two points before TF-IDF of
# words (`python -m tools.experiments baselines`).

# %% [markdown] slide="slide"
# ## Evaluate, honestly
#
# We want two numbers for the whole test split: mean loss and accuracy. The last batch
# is often smaller than the others. What does a mean of batch means do with its reviews?

# %% [markdown] slide="notes"
# **1 minute.** Ask, before you press: ten losses, eight of 2 and two of 9, in batches
# of 8 and 2. Mean of the means? Mean over all?
#
# Expect: "the same". It is 5.5 against 3.4.
#
# Say: two reviews of ten got half of the weight.

# %% tags=["nbval-check-output"] slide="fragment"
losses = torch.tensor([2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 9.0, 9.0])  # 10 reviews
batched = losses.split(8)  # 8 and 2
show("mean of batch means", torch.stack([one.mean() for one in batched]).mean(), 2)
show("mean over all reviews", losses.mean(), 2)

# %% [markdown] exercise="9.E" slide="subslide"
# Write the evaluation. Each batch is a dict with `input_ids`, `attention_mask` and
# `labels`; the model returns `.logits` and, given labels, `.loss`, the mean over the
# batch.


# %% [markdown] slide="notes"
# **4 minutes.** Say: you dictate, I type.
#
# Ask: what must be off while we only ask: in the layers, and in autograd?
#
# Expect: `eval()` is found, the graph is forgotten. Then they add up means of batches,
# which they have just seen to be wrong; let the check say so.


# %% exercise="9.E"
def evaluate(model, batches) -> tuple[float, float]:
    """Mean loss and accuracy over all reviews of all batches.

    Args:
        model: of transformers, for sequence classification
        batches: dicts of input_ids (B, T), attention_mask (B, T), labels (B,); B may
            differ from batch to batch; they stay as they are

    Returns:
        loss: cross-entropy, each review counting the same
        accuracy: share of reviews whose best label is the true one
    """
    ### BEGIN SOLUTION
    model.eval()
    total, right, count = 0.0, 0, 0
    with torch.inference_mode():
        for batch in batches:
            output, size = model(**batch), len(batch["labels"])
            total += output.loss.item() * size
            right += (output.logits.argmax(-1) == batch["labels"]).sum().item()
            count += size
    return total / count, right / count
    ### END SOLUTION


# %%
check("9.E", evaluate)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# The loss of a batch is a mean. Of how many reviews? What do you add up, so that you
# divide only once?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `eval()`, `torch.no_grad()`, `argmax` over the labels' axis. `.item()` makes plain
# numbers of tensors.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# no dropout, no gradients; for each batch: loss times size, right guesses, size, each
# added up; divide both sums by the number of reviews.
# </details>

# %% slide="skip"
test_rows = reviews.encode(dataset["test"], tokenizer)
loss, accuracy = evaluate(fresh, reviews.in_order(test_rows[:43]))
print(f"untrained head, 43 reviews: loss {loss:.3f}, accuracy {accuracy:.0%}")

# %% [markdown] slide="slide"
# ## Fine-tune
#
# The loop is lesson 06's: loss, backward, step. What surrounds it is new:
#
# - **AdamW**: Adam with **weight decay**;
# - **warm-up**, then a fall to 0;
# - **frozen layers** below, and a learning rate of its own for the head.

# %% [markdown] slide="notes"
# **3 minutes.** Ask: the body is trained, the head is random. What happens to the body
# in the first steps at full rate?
#
# Expect: "it is spoilt". Say: that is what the small rate, the warm-up and the frozen
# layers are for.
#
# Ask: what does the W in AdamW stand for? Each step makes every weight a little
# smaller, apart from the gradient.

# %% [markdown] slide="skip"
# **Weight decay** pulls every weight a little towards 0 in each step, so that a weight
# stays large only where the loss keeps it so. AdamW, unlike Adam, keeps this pull apart
# from the gradient. **Warm-up** means that the learning rate rises from nearly 0 during
# the first tenth of the steps: the head is random then, and the gradients that it sends
# to the body are mostly noise. Then the rate falls in a straight line to 0. **Frozen**
# layers are not trained at all. Their output for a review never changes, so it can be
# computed once and kept, which makes each pass over the data (an **epoch**) cheaper.

# %% [markdown] exercise="9.F" slide="subslide"
# Write both: an AdamW with the learning rate 5e-5, the usual one for BERT, and one
# epoch of training. The scheduler takes a step after each batch.


# %% exercise="9.F"
def make_optimizer(model):
    """AdamW over all weights of the model, learning rate 5e-5, the rest as it comes."""
    ### BEGIN SOLUTION
    return torch.optim.AdamW(model.parameters(), lr=5e-5)
    ### END SOLUTION


def train_epoch(model, batches, optimizer, scheduler) -> list[float]:
    """Train on every batch once.

    Args:
        model: called as model(**batch), returns an object with .loss; in whatever mode
        batches: dicts of input_ids, attention_mask and labels; they stay as they are
        optimizer: holds the model's parameters
        scheduler: of torch; its step() goes on to the next learning rate

    Returns:
        The loss of each batch, before its step: plain numbers.
    """
    losses = []
    ### BEGIN SOLUTION
    model.train()
    for batch in batches:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses
    ### END SOLUTION


# %%
check("9.F", make_optimizer, train_epoch)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# `evaluate` left the model in another mode. Which one does dropout need?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Four calls belong to a batch: clear, backward, and one step each of two objects. Torch
# warns if those two come in the wrong order.
# </details>

# %% [markdown] slide="skip"
# Why 5e-5? The paper tried 5e-5, 3e-5 and 2e-5 for models of 110 and 340 million
# weights, and these have been copied ever since. But the right rate depends on the
# model, the data and the number of steps. In a quick comparison on fold 4, with 300
# reviews, two trained layers and one seed, 5e-5 got 36.3 % right, and 1e-4, 2e-4 and
# 4e-4 got 45.1, 45.6 and 45.1 %. The standard error is 3.4 points, so the last three
# can't be told apart. The first is behind, but not by itself: with 8e-3 for the head
# instead of 1e-3 it got 44.7 % (`rates` and `head_rates` of `python -m
# tools.experiments`). The recipe below gives the body 2e-4 and the head 1e-3. It was
# chosen on the test reviews of fold 4, not on those of our fold 2.
#
# `fine_tuning.fine_tune` is your loop with a progress bar and gradient clipping. Start
# the cell, and write down what you expect: how many points above the best bag?

# %% slide="skip"
recipe = fine_tuning.Recipe() if bundled else fine_tuning.Recipe(rate=5e-5)
print(recipe)
model = fine_tuning.load_classifier(seed=recipe.seed)
train_rows = reviews.encode(dataset["train"], tokenizer)
history = fine_tuning.fine_tune(model, train_rows, recipe)
model = model.cpu()
print(f"{len(history.loss)} steps, {history.seconds:.0f} seconds")

# %% slide="subslide"
show_figure(
    loss_curve(history, title="fine-tuning, three epochs"),
    "The training loss falls from 1.6 to well under 1 in three epochs. Below, the "
    "learning rate: up for a tenth of the steps, then down in a straight line.",
)

# %% [markdown] slide="notes"
# **1 minute.** Ask: at which loss does it have to begin? And where does one epoch end?
#
# Expect: ln 5, which is 1.6: a coin with five sides.
#
# Say: three epochs take a few minutes on one core.

# %% slide="skip"
logits, wanted = fine_tuning.logits_of(model, reviews.in_order(test_rows))
result = fine_tuning.scores(logits, wanted)
right = (logits.argmax(-1) == wanted).numpy()
apart = right.astype(float) - bags[best_bag]
gap, error = 100 * apart.mean(), 100 * apart.std(ddof=1) / len(apart) ** 0.5
print(f"fine-tuned: {result}")
print(f"{gap:.1f} points above {best_bag!r}, standard error {error:.1f}")
assert not bundled or gap > 2 * error
mine.take("9.E", evaluate)
loss, accuracy = mine.evaluate(model, reviews.in_order(test_rows[:86]))
print(f"by mine.evaluate, the first 86: loss {loss:.3f}, accuracy {accuracy:.1%}")

# %% [markdown] slide="skip"
# Both models judged the same 215 reviews, so the gap is computed review by review, with
# a standard error of its own. It is more than twice that error, but fold 2 flatters the
# encoder. On all five folds together, with a training for each, the encoder gets 62.0 %
# and the best bag 52.7 %, a gap of 9.2 points with a standard error of 1.9 (`python -m
# tools.experiments reviews`). **Macro-F1** is the mean over the labels of F1, a balance
# of precision and recall.

# %% slide="subslide"
accuracies = {"keyword rule": keyword_accuracy}
accuracies |= {name: found.mean() for name, found in bags.items()}
accuracies["fine-tuned encoder"] = result.accuracy
spread = [(a * (1 - a) / len(wanted)) ** 0.5 for a in accuracies.values()]
show_figure(
    draw.bars(accuracies, spread, 0.2),
    "Bars of accuracy with error bars of about 7 points: the keyword rule at chance, "
    "bags of words between 37 and 50 percent, the fine-tuned encoder well above them.",
)

# %% [markdown] slide="notes"
# **2 minutes.** Ask: is the encoder better than the best bag? What else would you want
# to see?
#
# Expect: "the bars hardly overlap". Say: the same reviews, so the gap has an error of
# its own, and it is more than twice as large.
#
# Ask: and on another fold? Say: the gap is smaller on four of them, 9.2 points in all.

# %% slide="subslide"
from sklearn.metrics import confusion_matrix

guesses = logits.argmax(-1)
names = [reviews.stars(label) for label in range(5)]
table = confusion_matrix(wanted, guesses, labels=range(5))
off = (guesses - wanted).abs()
beside = ((off == 1).sum() / (off > 0).sum()).item()
print(f"wrong: {int((off > 0).sum())}, of these by one star: {beside:.0%}")
assert not bundled or result.error < 1  # guessing is off by 1.6 stars
show_figure(
    draw.confusions({"fine-tuned encoder": table}, names),
    "Confusion matrix. Most counts lie on the diagonal, about half of the others right "
    "beside it, and few in the far corners.",
)

# %% [markdown] slide="notes"
# **3 minutes.** Ask: row meant, column guessed. Which mistake is worse than which?
#
# Expect: "five for one". Accuracy can't tell it from five for four.
#
# Say: so look at the error in stars as well, and at the matrix. Read one of the worst
# aloud: would you have known?

# %% [markdown] slide="skip"
# A row of the **confusion matrix** stands for what was meant, a column for what was
# guessed. To accuracy, four stars for five are as wrong as one star for five; to the
# mean error in stars they are not. Of all possible wrong answers, 40 % are off by one
# star: is the share printed above much larger? Now read the two worst mistakes. Would
# you have known?

# %% slide="skip"
test_texts = list(dataset["test"]["text"])
for place in off.argsort(descending=True)[:2].tolist():
    meant, guessed = names[wanted[place]], names[guesses[place]]
    print(f"meant {meant}, guessed {guessed}: {test_texts[place]}\n")

# %% [markdown] slide="skip"
# Now write a review of your own, and let your fine-tuned model read it. Then change a
# single word. Can you change its mind with a *not*, or with sarcasm?

# %% slide="subslide"
your_review = (
    "The waiter forgot us twice, and then he brought a cake that we talk of yet."
)
batch = tokenizer(your_review, truncation=True, return_tensors="pt")
with torch.no_grad():
    shares = model.eval()(**batch).logits[0].softmax(-1)
for name, share in zip(names, shares.tolist(), strict=True):
    print(f"{name:8}{share:6.1%}", "#" * round(50 * share))

# %% [markdown] slide="notes"
# **2 minutes.** Say: open the notebook here, and take a review from the room.
#
# Ask: how many stars will it give? Then change one word, and ask again.
#
# Expect: they try *not*. Let them find a sentence that fools it.

# %% [markdown] slide="slide"
# ## Bugs from the wild
#
# **Stop words.** A quiz on sentiment models marks "remove the stop words, then basic
# machine learning" as the best answer.

# %% [markdown] exercise="9.G"
# Which words of the sentence below are **left**, in order, without the stop words? Call
# the list or tuple of these words `left`.


# %% locked=true
stop_words = baselines.stop_words()
sentence = "the food was not good and i would never come back"
print(len(stop_words), "stop words, for example", sorted(stop_words)[100:112])

# %% exercise="9.G"
### BEGIN SOLUTION
left = tuple(word for word in sentence.split() if word not in stop_words)
### END SOLUTION

# %%
check("9.G", left)

# %% [markdown] slide="skip"
# <details><summary>Hint: a pointer</summary>
#
# `sentence.split()` gives the words, `word in stop_words` says whether one goes.
# </details>

# %% [markdown] slide="skip"
# What is left, *food, good, come*, reads like five stars. The list throws away *not,
# never* and *but*, on which a rating can depend, though most of what it cost our bag
# was due to other words. A model that uses the order of words should get the text as it
# is.
#
# **The silenced report.** After `set_verbosity_error()` in the first cell, nobody is
# told that the head was missing, and "Positive, 0.55" looks like an answer. **Map
# first, choose later.** All 700,000 Yelp reviews are padded to 512 tokens, and then
# 2,000 reviews are kept. **Cased, uncased.** An exercise asks for the uncased model and
# loads `bert-base-cased`. Tokenize a name: does its capital survive? **The missing
# batch axis.** One row of a data set is (T,), not (B, T). Read the message below: how
# many axes were expected, and how many came?

# %% tags=["nbval-check-output"] slide="skip"
one = tokenizer(test_texts[0], truncation=True)
try:
    fresh(torch.tensor(one["input_ids"]))  # (T,), not (B, T)
except ValueError as error:
    print(f"{type(error).__name__}: {error}")

# %% [markdown] slide="slide"
# ## Going further
#
# From here on everything is optional: words in context, pieces of words, BERT's second
# task, and how to ask why a result is not better.

# %% [markdown] slide="skip"
# ### Words in context
#
# Look up *bank* in five sentences. A static table (lesson 01) has one row for it, but
# the encoder gives it a new vector each time. Which of the five will be alike? The
# vectors below are from layer 4 of 6, because the last layer was trained to sum up
# whole sentences.

# %% slide="skip"
texts = ["We sat on the bank of the river.", "The boat lay by the grassy bank.",
         "I made a bank deposit.", "The bank gave us a loan.",
         "She paid the cheque into the bank."]  # fmt: skip
bank = tokenizer.convert_tokens_to_ids("bank")
static, contextual = [], []
for text in texts:
    batch = tokenizer(text, return_tensors="pt")
    place = batch["input_ids"][0].tolist().index(bank)
    with torch.no_grad():
        states = encoder(**batch, output_hidden_states=True).hidden_states
        contextual.append(states[4][0, place])
        static.append(encoder.get_input_embeddings().weight[bank])

cosines = {}
for name, vectors in (("static", static), ("contextual", contextual)):
    unit = nn.functional.normalize(torch.stack(vectors), dim=-1)  # (5, D)
    cosines[name] = unit @ unit.T
show_figure(
    draw.similarities(cosines, ["sat on the", "grassy", "deposit", "loan", "cheque"]),
    "Cosines between the five vectors of bank. Static: all 1. Contextual: the banks of "
    "rivers agree best with each other, and so do the three banks for money.",
)
water = torch.tensor([True, True, False, False, False])
same = (water[:, None] == water) & ~torch.eye(5, dtype=torch.bool)
across, found = water[:, None] != water, cosines["contextual"]
assert not bundled or found[same].min() > found[across].max()

# %% [markdown] slide="slide"
# ### Pieces of words
#
# **WordPiece** keeps frequent words whole and cuts rare ones; `##` marks a piece that
# continues a word. With the pieces *un, ##break, ##able, ##a*, cut *unbreakable* from
# the left, always taking the longest piece that fits: *un, ##break, ##able*. If nothing
# fits at some point, the **whole word** becomes `[UNK]`. This vocabulary is *uncased*:
# the text is lower-cased first.

# %% tags=["nbval-check-output"]
print(tokenizer.tokenize("tokenization of untokenizable words"))
print(tokenizer.tokenize("I love Paris"))
print(f"{len(tokenizer):,} pieces in the vocabulary")

# %% [markdown] exercise="9.H"
# Write this for one word.


# %% exercise="9.H"
def wordpiece(word: str, vocab) -> list[str]:
    """Cut a word into pieces of a vocabulary.

    Args:
        word: not empty, no spaces; capital letters count as they are
        vocab: set or dict of pieces; those that continue a word begin with "##"

    Returns:
        The pieces, or ["[UNK]"] if the word can't be cut to its end.
    """
    pieces, rest = [], word
    ### BEGIN SOLUTION
    while rest:
        sizes = range(len(rest), 2 * bool(pieces), -1)  # "##" alone is no piece
        fits = [size for size in sizes if rest[:size] in vocab]
        if not fits:
            return ["[UNK]"]
        pieces.append(rest[: fits[0]])
        rest = rest[fits[0] :] and "##" + rest[fits[0] :]
    return pieces
    ### END SOLUTION


# %%
check("9.H", wordpiece)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# At which end of the rest do you begin to try, to meet the longest piece first?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Two loops: the outer one walks through the word, the inner one shortens the candidate.
# What happens if no candidate fits?
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# while something is left: try the rest, then the rest without its last letter, and so
# on, with the mark in front unless the word begins here; take the first one that is in
# the vocabulary; if there is none, give the word up.
# </details>

# %%
vocab = tokenizer.get_vocab()
every = {word for text in dataset["test"]["text"] for word in text.split()}
plain = sorted(word.lower() for word in every if word.isascii() and word.isalpha())
wrong = [word for word in plain if wordpiece(word, vocab) != tokenizer.tokenize(word)]
print(f"{len(plain) - len(wrong)} of {len(plain)} words cut the same way", wrong[:5])

# %% [markdown] exercise="9.J"
# **Why do we tokenize at all?** A model could read letters, or whole words. Explain in
# three sentences what each would cost, and what pieces do to a word that nobody has
# seen before.

# %% [markdown] answer="9.J"
# ### BEGIN SOLUTION
# **Model answer.** With whole words the list of words never ends, and a word that was
# not in the training text has no vector. With letters nothing is unknown, but sequences
# become five times as long, attention costs the square of the length, and a single
# letter means little. Pieces keep frequent words whole and put rare ones together from
# parts that were seen often, so a new word such as "untokenizable" can still be read,
# though cuts need not follow its meaning.
#
# **Rubric (2 points).** 1: names the cost of words (unknown, rare, huge table) and of
# letters (length). 1: says what happens to an unseen word, or that vocabulary and
# checkpoint belong together.
# ### END SOLUTION

# %% [markdown] slide="slide"
# ### BERT's second task: does this sentence follow?
#
# Two sentences go in at once. In half of the pairs the second one follows the first in
# its document, and a head at `[CLS]` has to say whether it does. To tell the two apart,
# each token also gets one of two **segment** vectors. The loss is the sum of both
# tasks' mean **negative** log-likelihoods. Later work dropped this task and lost
# nothing (Liu et al. 2019, *RoBERTa*).

# %% tags=["nbval-check-output"]
pair = tokenizer("He bought a gallon of milk.", "Penguins are flightless.")
tokens = tokenizer.convert_ids_to_tokens(pair["input_ids"])
print("token:  ", " ".join(f"{token:9}" for token in tokens))
print("segment:", " ".join(f"{number:<9}" for number in pair["token_type_ids"]))

# %% [markdown] exercise="9.K"
# Make such pairs from documents, each a list of sentences. Each sentence that has a
# next one begins one pair, in order. A sentence that does not follow comes from
# **another** document. Draw for each pair separately, with `random.random()` and
# `random.choice(...)`.


# %% exercise="9.K"
def sentence_pairs(documents: list[list[str]]) -> list[tuple[str, str, bool]]:
    """Make pairs, half of them real.

    Args:
        documents: two or more, each a list of sentences in order

    Returns:
        (first, second, is_next) for each sentence with a next one in its document;
        with probability 1/2 second is that next one and is_next is True, else second
        is any sentence of any other document, drawn for this pair.
    """
    pairs = []
    ### BEGIN SOLUTION
    for document in documents:
        others = [other for other in documents if other is not document]
        for first, following in zip(document[:-1], document[1:], strict=True):
            if random.random() < 0.5:
                pairs.append((first, following, True))
            else:
                stranger = random.choice(random.choice(others))
                pairs.append((first, stranger, False))
    return pairs
    ### END SOLUTION


# %%
check("9.K", sentence_pairs)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# How many pairs does a document of five sentences give?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `zip` a document with itself, shifted by one. A sentence from elsewhere takes two
# choices: which document, which sentence.
# </details>

# %% [markdown] slide="slide"
# ### Ask it for stars

# %% [markdown] exercise="9.L"
# Return the probabilities of the labels for a list of texts. Mind what must be off
# outside training, and what the model needs besides the ids. BERT has 512 positions, so
# let the tokenizer cut longer texts (its option `truncation`).


# %% exercise="9.L"
def star_probabilities(model, tokenizer, texts: list[str]) -> Tensor:
    """How likely is each label, for each text?

    Args:
        model: of transformers, for sequence classification; called as model(**batch),
            returns an object with .logits (B, labels)
        tokenizer: the one that belongs to it
        texts: B of them, of any length

    Returns:
        (B, labels), each row sums to 1
    """
    ### BEGIN SOLUTION
    model.eval()
    batch = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
    with torch.inference_mode():
        logits = model(**batch).logits  # (B, labels)
    return logits.softmax(-1)
    ### END SOLUTION


# %%
check("9.L", star_probabilities)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which two things that training needs are in the way here: one in the layers, one in
# autograd?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The tokenizer takes a list, fills short texts up, cuts long ones and returns tensors,
# if told so. Its result can be unpacked into the model with two stars.
# </details>

# %% slide="skip"
show("stars", star_probabilities(model, tokenizer, test_texts[:3]), digits=2)

# %% [markdown] slide="slide"
# ### Padding is work thrown away
#
# We put 300 reviews into batches of 16 in three ways: all padded to 512 tokens, each
# batch to its longest review, or likewise with similar lengths together. How much of
# the work goes into padding? The logits stay the same, as long as the mask marks the
# padding.

# %% slide="skip"
some = train_rows[:300]
lengths = torch.tensor([len(row["ids"]) for row in some])
by_length = reviews.training_batches(some, 16, seed=0)
plain = [reviews.pad_batch(some[n : n + 16]) for n in range(0, len(some) - 15, 16)]
shares = {"all to 512": 1 - lengths.float().mean().item() / 512}
for name, laid in (("each batch to its longest", plain), ("similar ones", by_length)):
    real = torch.cat([batch["attention_mask"].flatten() for batch in laid])
    shares[name] = 1 - real.float().mean().item()
show_figure(
    draw.padding_shares(shares),
    "Shares of padding: all to 512, nearly nine tenths; each batch to its longest, "
    "about a quarter; similar lengths together, a few percent.",
)
assert not bundled or shares["all to 512"] > 0.8 and shares["similar ones"] < 0.1

# %% tags=["nbval-check-output"] slide="skip"
batch = {name: value[:4] for name, value in plain[0].items() if name != "labels"}
wide = {name: nn.functional.pad(value, (0, 100)) for name, value in batch.items()}
with torch.no_grad():
    near, far = (fresh.eval()(**padded).logits for padded in (batch, wide))
    unmasked = fresh(wide["input_ids"]).logits
print("100 more places of padding, same logits:", torch.allclose(near, far, atol=1e-4))
print("the same without the mask:", torch.allclose(near, unmasked, atol=1e-4))

# %% [markdown] slide="slide"
# ### Why is it not better? Ask with experiments
#
# With the whole encoder frozen, each review is one vector, and training the head takes
# a moment. So take ten seeds for each question: does it matter how many reviews there
# are, whether the rate falls, whether each epoch has a new order? All are tested on the
# same 215 reviews. Which differences would you believe?

# %%
untrained = fine_tuning.load_classifier()
learn = small_trials.vectors(untrained, train_rows[:300])
test = small_trials.vectors(untrained, test_rows)


def ten(count: int, **changes) -> list[float]:
    """Accuracies of ten heads, each with a seed of its own."""
    some = tuple(part[:count] for part in learn)
    return [small_trials.head_alone(some, test, seed=n, **changes) for n in range(10)]


trials = {"50 reviews": ten(50), "150 reviews": ten(150), "300 reviews": ten(300)}
trials["300, constant rate"] = ten(300, schedule="constant")
trials["300, same order"] = ten(300, same_order=True)
for name, found in trials.items():
    middle = sum(found) / len(found)
    print(f"{name:20} {middle:.1%}, from {min(found):.1%} to {max(found):.1%}")
assert not bundled or max(trials["50 reviews"]) < min(trials["300 reviews"])

# %% [markdown] exercise="9.M"
# **Why is it not better?** Say in five sentences what these trials and the confusion
# matrix show about the number of reviews, the order and the schedule, and neighbouring
# stars. Keep apart what you measured, what you measured without a clear result, and
# what you only suspect.

# %% [markdown] answer="9.M"
# ### BEGIN SOLUTION
# **Model answer.** Chance is 20 %, and every trial is above it. More reviews help
# clearly: of ten seeds the worst with 300 is better than the best with 50. With the
# same order the ranges overlap, so I can't tell it from luck; a constant rate is some
# three points worse, less than the standard error of 215 test reviews. About half of
# the mistakes are off by one star, where 40 % of all possible ones are, but with so few
# mistakes that may be luck. I suspect, without having measured it, that a larger
# encoder would gain more.
#
# **Rubric (4 points).** 1: compares with chance or a baseline. 1: number of reviews,
# with numbers. 1: compares order and schedule with the spread over seeds, and does not
# claim more. 1: neighbouring stars, or says what is only suspected.
# ### END SOLUTION

# %% [markdown] slide="slide"
# ### Your turn

# %% [markdown] exercise="9.N"
# Beat the recipe with **one** idea: more epochs, another rate, other frozen layers, an
# average with the bag of words. One rule: choose on reviews of the training split, of
# which a fifth is held out below, and look at the test split once. `attempt` trains for
# a few minutes.

# %%
from helpers.student.leaderboard import Leaderboard

board = Leaderboard("09_leaderboard.json")
board.enter("keyword rule", keyword_accuracy)
board.enter(best_bag, bags[best_bag].mean())
board.enter("the lesson's recipe", result.accuracy)
print(board)


# %%
def attempt(recipe: fine_tuning.Recipe, seed: int = 1) -> nn.Module:
    """Fine-tune on four fifths of the training split, and say how the rest goes."""
    fifth = len(train_rows) // 5
    one = fine_tuning.load_classifier(seed=seed)
    fine_tuning.fine_tune(one, train_rows[fifth:], recipe)
    held_out = reviews.in_order(train_rows[:fifth])
    print(fine_tuning.scores(*fine_tuning.logits_of(one.cpu(), held_out)))
    return one


# my_model = attempt(fine_tuning.Recipe(epochs=4, rate=1e-4))  # as often as you like
# found = fine_tuning.logits_of(my_model, reviews.in_order(test_rows))  # once
# board.enter("my idea", fine_tuning.scores(*found).accuracy)

# %% [markdown] slide="slide"
# ### Beyond one machine
#
# Each of two processes takes half of every batch, and before each step they average
# their gradients. With equal halves that is the gradient of the whole batch.
# **Accelerate** takes care of it, and the same file runs on one process or two:
#
# ```
# make finetune ARGS="--csv my_reviews.csv"
# accelerate launch --multi_gpu --num_processes 2 -m tools.finetune
# ```
#
# `--multi_gpu` works without a GPU as well. Without `--csv` it takes the bundled
# reviews.

# %% tags=["nbval-check-output"]
_ = torch.manual_seed(0)
layer = nn.Linear(6, 5).double()
x, labels = torch.randn(8, 6).double(), torch.randint(0, 5, (8,))


def gradient(some: slice) -> Tensor:
    """Of the mean loss over some of the reviews."""
    loss = nn.functional.cross_entropy(layer(x[some]), labels[some])
    return torch.autograd.grad(loss, layer.weight)[0]


halves = (gradient(slice(0, 4)) + gradient(slice(4, 8))) / 2
unequal = (gradient(slice(0, 6)) + gradient(slice(6, 8))) / 2
whole = gradient(slice(0, 8))
print("4 + 4 equals 8:", torch.allclose(halves, whole, atol=1e-12))
print("6 + 2 equals 8:", torch.allclose(unequal, whole, atol=1e-3))

# %% [markdown] slide="slide"
# ## What you can do now
#
# You can hide words as BERT's training does, put a head on a pretrained body, and say
# what that head knows before it is trained: nothing. You can fine-tune, and you can say
# how sure a number is and what it beats. And you know to ask who wrote the data.
#
# Next, in lesson 10, the other half of the Transformer learns to write.

# %% [markdown] slide="notes"
# **1 minute.** Ask: a friend reports 65 % on a test split. What do you ask back?
#
# Expect: "of how many reviews", "against what", "on which fold". Who wrote them, too.
#
# Say: with that you read most papers better than their abstracts want you to.

# %% [markdown] slide="skip"
# **References.** Devlin et al. 2019, *BERT* (arXiv 1810.04805). Peters et al. 2018,
# *ELMo* (arXiv 1802.05365). Radford et al. 2018, *Improving Language Understanding by
# Generative Pre-Training*. Wu et al. 2016 (arXiv 1609.08144), for WordPiece. Liu et al.
# 2019, *RoBERTa* (arXiv 1907.11692). Wang et al. 2020, *MiniLM* (arXiv 2002.10957).
# Reimers and Gurevych 2019, *Sentence-BERT* (arXiv 1908.10084). Loshchilov and Hutter
# 2019, *AdamW* (arXiv 1711.05101). Zhang et al. 2015 (arXiv 1509.01626), for the Yelp
# reviews. Dodge et al. 2020 (arXiv 2002.06305), on seeds in fine-tuning.
