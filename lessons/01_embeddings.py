# %% [markdown] slide="slide"
# # 01 Embeddings: words as vectors, and where they stand
#
# **How can numbers say what a word means, and which position it has?**
#
# Read this once: *The animal did not cross the street because it was too tired.* Who
# was tired? Now change one word: *... because it was too wide.* For you, *it* has
# become the street. A model can only compute, so every word has to become numbers
# first. Below is a table that has such numbers for 21,719 words, and nobody wrote down
# what any of them means. Still, ask it for the words closest to *animal*, *street* and
# *tired*. Then ask what *it* is in each of the two sentences.
#
# You need: vectors, the dot product, a little PyTorch. Time: {minutes}.
# Everything runs on your laptop's CPU, without a network.

# %% [markdown] slide="notes"
# **3 minutes.** Say: a model can only compute, so every word has to become numbers
# first.
#
# Ask: how would you do it? Take every proposal, and keep them on the board.
#
# Expect: a number for each word, or letters as numbers. Both come back in a few
# minutes, when we ask whether one can compute with them.

# %%
import math
import re

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import show
from helpers.checks import check
from helpers.corpora.sonnets import SONNETS, load_text
from helpers.figures import embeddings as draw
from helpers.figures import show_figure
from helpers.figures.play import play
from helpers.models import positions
from helpers.pretrained import load_encoder, load_tokenizer
from helpers.text import characters, word_vectors

_ = torch.manual_seed(42)

# %% slide="subslide" tags=["nbval-check-output"]
tired = "The animal did not cross the street because it was too tired."
wide = "The animal did not cross the street because it was too wide."
nlp = word_vectors.load()
words, vectors = word_vectors.whole_words(nlp)  # n words, and their vectors (n, D)
print(f"{len(words):,} words, {vectors.shape[1]} numbers each")
for word in ("animal", "street", "tired"):
    print(f"{word:7}", *word_vectors.nearest(word, 5, words, vectors))
first, second = nlp(tired)[8], nlp(wide)[8]  # both are the word at position 8
print(f"{first} and {second}, the same: {(first.vector == second.vector).all()}")

# %% [markdown] slide="notes"
# **1 minute.** Ask: nobody told this table what a word means. Which words are near
# *tired*? And is *it* the same in both sentences?
#
# Expect: good guesses for the first. The second splits the class.
#
# Say: one row for *it*, whatever the sentence. That is the puzzle which lesson 02
# solves.

# %% [markdown] slide="skip"
# At the end of this lesson you can
#
# - look up such vectors without a library, and measure how alike two are;
# - train vectors of your own;
# - say how far to believe an analogy, and what spaCy is for;
# - give each position a vector.
#
# One thing you will not be able to do, as the last line above shows already: tell the
# two *it* apart. A table has **one row for *it***, whatever the sentence.

# %% [markdown] slide="skip"
# **Letters in shape comments**, the same in every lesson: `B` batch, `T` length, `D`
# d_model (numbers per vector), `V` vocabulary. `word_vectors` and `positions` are the
# course's own code, so you can go on wherever an answer of yours is missing.

# %% [markdown] slide="notes"
# Leave 1.B to 1.E and everything below Going further for the lab. Usual trouble: the
# shift in 1.C, and the index i that already counts by twos.

# %% [markdown] slide="slide"
# ## From a sentence to ids
#
# Take the sentence through the first steps of every language model. A **tokenizer**
# cuts it into **tokens**, pieces from a fixed list called the **vocabulary**; a piece's
# number in the list is its **id**; and the id will fetch a vector. This tokenizer
# belongs to all-MiniLM-L6-v2, a real model that turns sentences into vectors. Guess
# before you run: are there as many tokens as words? Will an id occur twice?

# %% [markdown] slide="notes"
# **1 minute.** Ask: are there as many tokens as words? Does an id occur twice?
#
# Expect: "yes" and "no". *the* comes twice, and *sleepless* is two pieces.
#
# Say: an id is the number of a piece in a list, and no more than that.

# %% tags=["nbval-check-output"] slide="fragment"
tokenizer = load_tokenizer()
for text in (tired, "I love Paris", "A transformer was sleepless"):
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    print(tokenizer.convert_ids_to_tokens(ids), ids)

# %% [markdown] slide="subslide"
# A common word is one token. A rarer one is cut into parts, and `##` marks a part that
# goes on from the one before (lesson 09 shows how they are chosen). The text is
# **lower-cased** first: capitals become small letters. Put in a word that nobody has
# ever written, or your name. Where will it be cut?

# %% slide="skip"
yours = "The grumpfish couldn't oversleep."
yours_ids = tokenizer(yours)["input_ids"]  # this time with the model's own marks
print(tokenizer.convert_ids_to_tokens(yours_ids))
print(tokenizer.decode(yours_ids))

# %% [markdown] slide="skip"
# Few words defeat it, because pieces can be as short as a letter; only a word with a
# sign that the vocabulary lacks becomes `[UNK]`. The way back shows what was lost: the
# capitals, and where a space stood. And there are two **special tokens**, `[CLS]`
# before a text and `[SEP]` behind it, which this model expects.
# `add_special_tokens=False` left them out above.

# %% [markdown]
# Look at the ids once more: *the* has 1996 both times. Can a model compute with these
# numbers? It would find *was*, 2001, very close to *the*, and *animal*, 4111, far from
# both, which is nonsense. The honest translation of an id is **one-hot**: a vector with
# a 1 at that number and 0 elsewhere.

# %% [markdown] slide="notes"
# **1 minute.** Ask: can one compute with ids? *was* is 2001, *the* is 1996: alike?
#
# Expect: laughter, and "one-hot" from those who know it.
#
# Say: one-hot is honest and useless: all words are equally unlike.

# %% tags=["nbval-check-output"]
one_hot = F.one_hot(torch.tensor([0, 1, 2]))  # say: dog, puppy, street
show("dot products", one_hot @ one_hot.T)

# %% [markdown] slide="slide"
# ## From ids to vectors
#
# Now all words are equally unlike, so what a model learns about *dog* is no help with
# *puppy*; and each vector is as long as the vocabulary. We want short vectors in which
# alike words lie close together. Such a vector is called an **embedding**. Take five
# words with three numbers each, a row for every word: $e_i = E_{i,:}$. To have some
# numbers, fill the table by counting: .1 .2 .3 in the first row, .4 .5 .6 in the
# second, and so on; *it* is the third of the five. Multiply the one-hot vector of *it*
# with this table on paper, then compare.

# %% [markdown] slide="notes"
# **1 minute.** Ask: everybody multiplies the one-hot vector of *it* with the table.
#
# Expect: some start to multiply, others see it: the product is row 2.
#
# Say: so nobody multiplies. An embedding layer is a look-up.

# %% tags=["nbval-check-output"]
tiny = ["animal", "street", "it", "tired", "wide"]
E = torch.arange(1.0, 16.0).view(5, 3) / 10  # (V=5, D=3): .1 .2 .3 / .4 .5 .6 / ...
hot = F.one_hot(torch.tensor(tiny.index("it")), 5).float()  # (V,)
show("one-hot", hot, 0)
show("one-hot @ E", hot @ E)
show("row 2 of E", E[2])

# %% [markdown] slide="skip"
# A product with a one-hot vector fetches one row. So nobody multiplies: an embedding
# layer is a **look-up**. Three numbers fit on paper; spaCy's large English vectors have
# 300 and MiniLM's 384. (OpenAI's text-embedding-3-large of January 2024 gives 3,072 for
# a whole text, which is more than a look-up.)

# %% [markdown] exercise="1.A"
# Write the look-up for a whole batch of sentences. `ids` can have any number of axes;
# each id becomes a vector. Don't use `nn.Embedding` or `F.embedding`.


# %% [markdown] slide="notes"
# **4 minutes.** Say: you dictate, I type, with the check below.
#
# Ask: `table[2]` is one row. What is `table[ids]`, if ids is (B, T)?
#
# Expect: a loop, or two. Let it pass its check first; then ask for a line without one,
# and for the shape.


# %% exercise="1.A"
def embed(table: Tensor, ids: Tensor) -> Tensor:
    """Look up the vector of every token.

    Args:
        table: (V, D), a row for each word of the vocabulary
        ids: whole numbers from 0 to V - 1, any shape, for example (B, T)

    Returns:
        One more axis than ids: (B, T, D) for ids (B, T).
    """
    ### BEGIN SOLUTION
    return table[ids]
    ### END SOLUTION


# %%
check("1.A", embed)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# `E[2]` fetched one row. What if you put a tensor of numbers between the brackets?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The PyTorch documentation calls this advanced indexing: the shape of the index takes
# the place of the axis that it indexes.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# index the first axis of the table with all ids at once; return that.
# </details>

# %% [markdown]
# Now the real thing: MiniLM's own table, and both sentences at once.

# %% tags=["nbval-check-output"]
minilm = load_encoder().embeddings.word_embeddings.weight.detach()  # (V, D)
batch = tokenizer([tired, wide], add_special_tokens=False, return_tensors="pt")
ids = batch["input_ids"]  # (B, T)
x = embed(minilm, ids)
print("ids", tuple(ids.shape), "vectors", tuple(x.shape))
print("'the', at 0 and at 5, alike:", torch.equal(x[0, 0], x[0, 5]))
print("'it', in both sentences, alike:", torch.equal(x[0, 8], x[1, 8]))

# %% [markdown] exercise="1.B"
# PyTorch's own layer, `nn.Embedding`, does the same as your look-up and keeps the table
# as a **parameter**, a tensor that training changes. Say before you look: what are the
# **shapes** of `out[0]`, `out[0, 2]` and `out[:, 2]`? Store three tuples.

# %% tags=["nbval-check-output"]
layer = nn.Embedding(20, 300)  # V = 20, D = 300
sentences = torch.tensor([[3, 5, 9], [3, 7, 9]])  # two sentences of three tokens
out = layer(sentences)
print("out", tuple(out.shape))

# %% exercise="1.B"
### BEGIN SOLUTION
shape_of_first = (3, 300)  # the whole first sentence
shape_of_first_third = (300,)  # the third word of the first sentence
shape_of_all_third = (2, 300)  # the third word of both sentences
### END SOLUTION

# %%
check("1.B", shape_of_first, shape_of_first_third, shape_of_all_third)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# `out` is (B=2, T=3, D=300). Which axis does a single index count along?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# A whole number removes its axis, a colon keeps it, and axes that you don't mention
# stay.
# </details>

# %% [markdown] slide="slide"
# ## Letters that learn
#
# Where do good numbers come from? A table starts at random and is trained. You can
# watch that within seconds if you take letters instead of words, and two numbers
# instead of 384. (Letters in a plane are an idea from Andrej Karpathy's *makemore*
# lectures.) The task is the one that GPT learns from, with letters for its tokens: read
# one, predict the next. A matrix $W$ turns the vector $e$ of the letter that was read
# into a score for each of the 27 signs that may follow (26 letters and the space),
# $eW+b$; the vector $b$ adds a number for each sign, because some are common whatever
# comes before. Such a score is called a **logit**.

# %% [markdown] slide="notes"
# **2 minutes.** Say: 27 signs instead of a vocabulary, two numbers instead of 384, so
# that we can look at all of it.
#
# Ask: what is the bias for? What could the model still say without any vectors?
#
# Expect: "which letters are common". Right, and keep that for the end.

# %% [markdown] slide="skip"
# The **softmax** turns the logits into probabilities (lesson 02 takes it apart), and
# the **cross-entropy** is −log of the probability of the letter that really came: 0 if
# the model was sure and right, ln 27 = 3.30 if it gives all signs the same.
# `F.cross_entropy(logits, right)` does both and takes the mean. This is the **loss**,
# the number that training makes small. Here it is for one letter and three signs:

# %% tags=["nbval-check-output"] slide="skip"
logits, came = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0])  # the first one
show("probabilities", logits.softmax(-1))
show("-log of the first", -logits.softmax(-1)[0, 0].log())
show("cross-entropy", F.cross_entropy(logits, came))

# %% [markdown] exercise="1.C"
# Write this loss for a text. Each letter but the last is asked for the one after it.
# Do without a loop: training will call it 1,200 times.


# %% exercise="1.C" tags=["letters"]
def next_letter_loss(
    table: Tensor, weight: Tensor, bias: Tensor, ids: Tensor
) -> Tensor:
    """How badly the vectors of letters predict the letter that follows.

    Args:
        table: (V, D), a vector for each letter
        weight: (D, V)
        bias: (V,)
        ids: (T,), a text

    Returns:
        The mean cross-entropy over the T - 1 predictions, one number.
    """
    ### BEGIN SOLUTION
    #: logits = ...  # (T - 1, V)
    logits = table[ids[:-1]] @ weight + bias  # (T - 1, V)
    return F.cross_entropy(logits, ids[1:])
    ### END SOLUTION


# %%
check("1.C", next_letter_loss)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# In the text *abc*, which letters are read, and which are the right answers?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `ids[:-1]` is all but the last, `ids[1:]` all but the first. The vectors of several
# letters are one look-up, as in 1.A.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# look up what is read; times the weight, plus the bias; cross-entropy with what comes.
# </details>

# %% [markdown] slide="subslide"
# The text is 1,075 short reviews, written for this course, of shops that don't exist.
# In each step your loss sees 2,000 letters of it; `backward` computes the **gradient**,
# which says for each number how the loss changes with it; and Adam, the **optimizer**,
# moves every number a little so that the loss falls. The code gets nothing but the
# text. Which letters do you expect to come together? Say it aloud, then run both cells.

# %% [markdown] slide="notes"
# **2 minutes.** Say: read a letter, predict the next; the loss of that is exercise 1.C,
# in the lab.
#
# Ask: nobody tells the model what a vowel is. Which letters will come together?
#
# Expect: "e and a, the common ones", "q and u, which stand together". Write the guesses
# on the board.

# %% tags=["letters", "nbval-check-output"]
text = load_text(SONNETS.with_name("reviews.csv"))
text = re.sub("[^a-z]+", " ", text.lower())  # 26 letters, and a space for the rest
alphabet = characters.Characters.of(text)
print(f"{len(text):,} letters, {len(alphabet)} different ones: {alphabet.characters!r}")

# %% tags=["letters"] slide="subslide"
seed = 0
shuffle = False  # True: the same letters in random order
draws = torch.Generator().manual_seed(seed)
letter_ids = alphabet.encode(text)
if shuffle:
    letter_ids = letter_ids[torch.randperm(len(letter_ids), generator=draws)]
letters = (0.1 * torch.randn(27, 2, generator=draws)).requires_grad_()
weight = (0.1 * torch.randn(2, 27, generator=draws)).requires_grad_()
bias = torch.zeros(27, requires_grad=True)
optimizer = torch.optim.Adam([letters, weight, bias], lr=0.03)
stages, losses = {0: letters.detach().clone()}, []
for step in range(1, 1201):
    at = torch.randint(len(letter_ids) - 2000, (1,), generator=draws).item()
    loss = next_letter_loss(letters, weight, bias, letter_ids[at : at + 2001])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step in (5, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200, 300, 500, 800, 1200):
        stages[step] = letters.detach().clone()
beside = characters.nearest(alphabet.characters[1:], stages[1200][1:])
print(f"loss {losses[0]:.2f}, in the last 100 steps {sum(losses[-100:]) / 100:.2f}")
print("nearest letter:", *(f"{vowel}-{beside[vowel]}" for vowel in "aeiou"))
play(draw.letters(alphabet.characters, stages, losses))

# %% tags=["letters"] slide="skip"
if losses and seed == 0 and not shuffle:
    assert 3.25 < losses[0] < 3.35 and sum(losses[-100:]) / 100 < 2.55
    assert all(beside[vowel] in "aeiou" for vowel in "aeiou")

# %% [markdown] slide="notes"
# **5 minutes.** Say: open the notebook, run the cell, and drag the slider from 0 to
# 1200.
#
# Ask: why do vowels end up together? Compare with the guesses on the board.
#
# Expect: "because they are alike". Insist: alike in what? In the letters that follow.
#
# Say: now set `shuffle = True`, and try a few seeds. Between none and four of them
# still meet: that much is luck.

# %% [markdown] slide="skip"
# Drag the slider from 0 to the end. The letters start in a heap, and in the end the
# letter nearest to each of *a, e, i, o, u* is another of them: a vector has to say what
# comes next, so letters with much the same followers tend to end up close. Now change
# something. With another `seed`, where do the vowels go? With `shuffle = True`, will
# they still meet? With each of thirty seeds (the table is in `docs/experiments.md`),
# all five vowels had another vowel nearest in the real text. In the shuffled one, where
# a letter says nothing about the next, it was between none and four of them.

# %% [markdown] slide="subslide"
# A vector starts to move only when its letter is read. In `nn.Embedding`, too, only the
# rows that were looked up get a gradient. A word that never occurs keeps its **initial
# weights**, the random numbers it began with, unless something else moves them, such as
# **weight decay**, which pulls all numbers towards 0. Here are the layer of 1.B and
# its two sentences once more; which of the 20 rows will have a gradient?

# %% tags=["nbval-check-output"]
layer.zero_grad()
layer(sentences).sum().backward()
touched = layer.weight.grad.abs().sum(1).nonzero().flatten()
print("rows with a gradient:", touched.tolist())

# %% [markdown] slide="slide"
# ## Real words, and what spaCy is for
#
# The vectors at the top were MiniLM's, kept in **spaCy**, a library for the everyday
# work on text: it splits text by the rules of a language, labels the words, and
# compares texts by their vectors. Its tokens are not pieces from a list. How many will
# it make of *Don't*, and of *U.K.*?

# %% [markdown] slide="notes"
# **1 minute.** Ask, before you press: how many tokens are *Don't* and *U.K.*?
#
# Expect: one and three, or one and one. spaCy says two and one.
#
# Say: look at what is left without the stop words: *not* is gone. Drop them to find a
# topic, never to understand a sentence.

# %% tags=["nbval-check-output"] slide="fragment"
print("token     stop word  has a vector")
for token in nlp("Don't cross streets in the U.K. without looking."):
    print(f"{token.text:9} {token.is_stop!s:10} {token.has_vector}")
print("without stop words:", [t.text for t in nlp(tired) if not t.is_stop])

# %% [markdown] slide="skip"
# *Don't* is two tokens and *U.K.* one, full stops included. **Stop words** are the
# frequent ones that programs drop when they count what a text is about. Look what is
# left of our sentence: *not* is gone, and *it*. So drop them to find a topic, never to
# understand a sentence. And beware of tokens without a vector: spaCy gives them zeros,
# which point in no direction, so that they can't be compared with anything. (If spaCy's
# `en_core_web_lg` is installed, its vectors are used; what the text says about single
# words is about the bundled table.)

# %% [markdown] slide="slide"
# ## How alike are two words?
#
# The usual measure is their **cosine similarity**, the cosine of the angle between the
# two vectors, whatever their lengths:
#
# $$\cos(u, v) = \frac{u \cdot v}{\lVert u \rVert\, \lVert v \rVert}$$
#
# 1 is the same direction, 0 a right angle, −1 the opposite. By hand: [3, 4] and [4, 3].

# %% [markdown] slide="notes"
# **2 minutes.** Ask: [3, 4] and [4, 3], in the head: the dot product, the lengths, the
# cosine?
#
# Expect: 24, then 5 and 5; a few stop at 24. So 24 / 25.
#
# Say: lengths are divided out, and a direction is left. Exercise 1.D does it for a
# whole table.

# %% tags=["nbval-check-output"] slide="fragment"
a, b = torch.tensor([3.0, 4.0]), torch.tensor([4.0, 3.0])
show("dot product", a @ b)
show("lengths", torch.stack([a.norm(), b.norm()]))
show("cosine", F.cosine_similarity(a, b, dim=0))

# %% [markdown] exercise="1.D"
# Write the cosine of one vector with every row of a table at once. No row is zero.
# Don't call torch's own `cosine_similarity`.


# %% exercise="1.D"
def cosine_similarity(u: Tensor, V: Tensor) -> Tensor:
    """Cosine of the angle between one vector and each row of a table.

    Args:
        u: (D,)
        V: (n, D)

    Returns:
        (n,), from -1 to 1.
    """
    ### BEGIN SOLUTION
    #: lengths = ...  # (n,)
    lengths = u.norm() * V.norm(dim=-1)  # (n,)
    return V @ u / lengths
    ### END SOLUTION


# %%
check("1.D", cosine_similarity)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# How many dot products are there, and how many lengths?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# A matrix times a vector is all dot products at once. `V.norm(dim=...)` takes the axis
# to run along, by its name: `V.norm(1)` means something else.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# dots: the table times u; lengths: that of u times those of the rows; divide.
# </details>

# %% [markdown]
# spaCy compares whole texts in the same way: the vector of a text is the mean of its
# tokens', and `similarity` is the cosine. Before you run the cell, put its four pairs
# in order, from the most alike to the least.

# %% tags=["nbval-check-output"]
for one, other in (
    ("The dog slept on the sofa.", "A puppy dozed on a couch."),
    ("The dog slept on the sofa.", "The bank raised its interest rates."),
    (tired, wide),
    ("dog bites man", "man bites dog"),
):
    print(f"{nlp(one).similarity(nlp(other)):.2f}  {one} / {other}")

# %% [markdown]
# The first two sentences share no noun and no verb, and are still found alike: that is
# nearly a search by meaning (lesson 04). Nearly, because part of it is *on* and the
# articles: *The mayor voted on the budget.* gets 0.48 with the dog on its sofa. Our own
# two sentences get 0.94, although *it* is not the same in them. And to a mean, *man
# bites dog* is the same as *dog bites man*, because a mean does not know the order. The
# second half of the lesson is about that order.

# %% [markdown] exercise="1.E"
# Find the **nearest** words of a word by cosine, without the word itself. Then solve an
# **analogy**: *a* is to *b* as *c* is to which word? Step from *a* to *b*, start from
# *c*, and take the word nearest to where you arrive. The words you asked with can't be
# the answer.


# %% exercise="1.E"
def nearest(word: str, k: int, words: list[str], vectors: Tensor) -> list[str]:
    """The k words most similar to a word by cosine, the most similar first.

    Args:
        word: one of words; not part of the result
        k: how many
        words: n words
        vectors: (n, D), their vectors
    """
    ### BEGIN SOLUTION
    similarity = F.cosine_similarity(vectors[words.index(word)], vectors)  # (n,)
    similarity[words.index(word)] = -2.0  # below every cosine
    return [words[row] for row in similarity.topk(k).indices]
    ### END SOLUTION


def analogy(a: str, b: str, c: str, words: list[str], vectors: Tensor) -> str:
    """The word that is to c as b is to a: the nearest one to b - a + c by cosine.

    The vectors are added as they are. None of a, b and c is the answer.
    """
    ### BEGIN SOLUTION
    asked = [words.index(word) for word in (a, b, c)]
    from_a, to_b, from_c = vectors[asked]
    similarity = F.cosine_similarity(from_c + to_b - from_a, vectors)
    similarity[asked] = -2.0
    return words[similarity.argmax()]
    ### END SOLUTION


# %%
check("1.E", nearest, analogy)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which word is always the most similar one to *dog*? What follows for the k you ask
# for?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# `words.index(word)` says which row. `topk(k)` returns two things, the k largest values
# and their `.indices`, the largest first; a list takes one index at a time.
# `F.cosine_similarity` is allowed here. A cosine is never below −1.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# cosines of the target with all rows; those of the words asked with: set far down; take
# the largest; turn rows into words.
# </details>

# %%
print("nearest to dog:", nearest("dog", 5, words, vectors))
print("man is to king as woman is to", analogy("man", "king", "woman", words, vectors))

# %% slide="subslide" tags=["nbval-check-output"]
for word in ("dog", "berlin", "swimming", "seven", "bank"):
    print(f"{word:9}", *word_vectors.nearest(word, 6, words, vectors))

# %% [markdown] slide="notes"
# **1 minute.** Ask: nobody put *swam* beside *swimming*. And which *bank* is this?
#
# Expect: "it was trained on text"; money.
#
# Say: one row has to serve the money and the river. Lesson 09 gives each sentence its
# own *bank*.

# %% [markdown]
# Nobody entered *swam* beside *swimming*. The model found that useful while it was
# trained on text, and on pairs of sentences that belong together. Note *bank*: one row
# serves the money and the river, and money won. Lesson 09 shows how a whole encoder
# gives *bank* a different vector in each sentence. Try words of your own. Then the
# analogies: the next cell asks fifteen. How many will come out as we hoped?

# %% slide="subslide" tags=["nbval-check-output"]
questions = """man king woman queen; france paris germany berlin; dog puppy cat kitten
man woman brother sister; run running swim swimming; france paris japan tokyo
write wrote sing sang; big bigger small smaller; france french germany german
boy girl prince princess; good better bad worse; germany berlin france paris
brother sister uncle aunt; france paris spain madrid; france paris italy rome"""
asked = [line.split() for line in questions.replace("\n", ";").split(";")]
found = {tuple(one): word_vectors.analogy(*one[:3], words, vectors) for one in asked}

for (a, b, c, expected), answer in found.items():
    note = "" if answer == expected else f"   (we hoped for {expected})"
    print(f"{a} is to {b} as {c} is to {answer}{note}")

# %% [markdown] slide="notes"
# **2 minutes.** Ask: man is to king as woman is to what? And what would convince you
# that this works?
#
# Expect: "queen", at once. For the second, hope for "more examples, chosen by someone
# else".
#
# Say: 13 of 15. We chose the questions, and five are about capitals.

# %% slide="skip"
right = {answer for (*_, expected), answer in found.items() if answer == expected}
if word_vectors.is_bundled(nlp):
    assert {"queen", "berlin", "sister", "swimming"} <= right
    assert len(right) == 13

# %% [markdown] slide="subslide"
# 13 of our 15 come out, and two don't: Spain gets *barcelona*, Italy gets *italian*.
# That is less impressive than it looks. We chose the questions, five of them about
# capitals, and there is a rule that helps: the three words that you asked with can't be
# the answer. Guess how many come out without that rule, then run the cell.

# %% [markdown] slide="notes"
# **1 minute.** Ask: without the rule that excludes the three words asked with, how many
# are right?
#
# Expect: "ten?" Then read the last line: 1 of 15.
#
# Say: the step hardly points at *queen*, so one stays near *king*.

# %% tags=["nbval-check-output"] slide="fragment"
row_of = {word: row for row, word in enumerate(words)}
count = 0
for a, b, c, expected in asked:
    arrived = vectors[row_of[b]] - vectors[row_of[a]] + vectors[row_of[c]]
    count += words[F.cosine_similarity(arrived, vectors).argmax()] == expected
print(f"without the exclusion: {count} of {len(asked)} right")

# %% [markdown] slide="skip"
# One. King − man + woman is nearest to *king*, and the rule that forbids *king* does
# much of the work. Does the step from *man* to *woman* at least point the same way as
# the step from *king* to *queen*? **PCA**, principal component analysis, finds the two
# directions in 384 dimensions along which these four words differ most. Look at the two
# arrows in that plane. Then, before you run the cell below the figure, guess the cosine
# of the two steps in all 384 dimensions.

# %% slide="subslide"
pairs = [("man", "woman"), ("king", "queen")]
chosen = [row_of[word] for side in zip(*pairs, strict=True) for word in side]
show_figure(
    draw.steps(pairs, draw.plane(vectors[chosen])),
    "Four words in a plane. The arrows from man to woman and from king to queen "
    "point in nearly the same direction.",
)

# %% tags=["nbval-check-output"] slide="skip"
man, king, woman, queen = vectors[chosen]
step_cosine = F.cosine_similarity(woman - man, queen - king, dim=0)
show("cosine of the two steps, in all 384 dimensions", step_cosine, 2)

# %% [markdown] slide="skip"
# In the plane they are nearly parallel, in 384 dimensions they stand at 79 degrees: a
# plane chosen for four points can hide just what spoils the picture.

# %% [markdown] slide="notes"
# **1 minute.** Ask: the arrows look parallel. What might the picture hide?
#
# Expect: "the other 382 numbers".
#
# Say: in all 384 dimensions the two steps stand at 79 degrees. The plane was chosen for
# these four points.

# %% [markdown] slide="slide"
# ## Where a word stands
#
# A mean could not say who bites whom. A recurrent network (lesson 07) could: it reads
# word after word, so it knows the order. A transformer takes in all the words of a text
# at once. That makes it fast, because nothing has to wait for the word before; the
# price is that the order is lost. Our sentence has *the* at positions 0 and 5, and both
# have the same row. So each **position** gets a vector of its own, which is **added**
# to the word's. Which vector? The plain number 0, 1, 2 ... soon becomes larger than any
# number in the word's vector. Binary doesn't.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: the model sees all words at once, and *the* stands at 0 and at 5.
# How would you tell it which is which?
#
# Expect: "number them". Ask what 5,000 does, added to numbers around 0. Then somebody
# finds binary.
#
# Say: read one column at a time: each digit is twice as slow as its right neighbour.

# %% tags=["nbval-check-output"]
for position in range(8):
    print(position, f"{position:03b}")

# %% [markdown] slide="subslide"
# Read the columns from top to bottom. The last digit changes at every position, the one
# before at every second, the first at every fourth. Together they tell all positions
# apart, and none exceeds 1. Only the jumps are a pity: 3 and 4 are neighbours, and all
# three digits differ. So make each column the hand of a clock, one fast, the next
# slower, the next slower still, and write down its sine and its cosine. That is the
# **positional encoding** of the first Transformer, in 2017; pair $i$ is one hand:
#
# $$PE_{pos,\,2i} = \sin\frac{pos}{10000^{2i/d}}, \qquad
# PE_{pos,\,2i+1} = \cos\frac{pos}{10000^{2i/d}}$$

# %% [markdown] slide="notes"
# **2 minutes.** Ask: from 3 to 4 all three digits jump. How would you make that smooth?
#
# Expect: with the word *clock* on the board, "hands".
#
# Say: pair i is one hand; its sine and its cosine are two of the numbers. Point at 2i:
# who counts by twos has it already, and doubles it easily.

# %% [markdown] slide="subslide"
# **By hand.** In our sentence *did* has position 2; we count from 0. Take d = 4: two
# hands, i = 0 and 1, with the powers $10000^{0} = 1$ and $10000^{2/4} = 100$. The first
# hand turns by one radian per word, the second a hundred times more slowly.

# %% [markdown] slide="notes"
# **2 minutes.** Ask: position 2, four numbers. Which two angles?
#
# Expect: 2 and 0.02; the second costs a minute, because of the power 2/4.
#
# Say: keep these four numbers. They are the best test of the exercise that follows.

# %% tags=["nbval-check-output"] slide="fragment"
angles = torch.tensor([2 / 1, 2 / 100])
show("sines, dimensions 0 and 2", angles.sin())
show("cosines, dimensions 1 and 3", angles.cos())

# %% [markdown] exercise="1.F"
# Write the whole table for an even d_model. Test it against the four numbers above.


# %% [markdown] slide="notes"
# **4 minutes.** Say: live, from the stub, with the check below.
#
# Ask: how many different angles does one position have, d or d/2?
#
# Expect: d, and an exponent that is doubled; `arange(0, d_model, 2)` is the 2i of the
# formula already. Make that mistake, and let the check name it.


# %% exercise="1.F"
def positional_encoding(length: int, d_model: int) -> Tensor:
    """The table of sines and cosines that tells positions apart.

    Args:
        length: how many positions, counted from 0
        d_model: width of a row, even

    Returns:
        (length, d_model) in float32: dimensions 0, 2, 4 ... hold sines, the others
        cosines.
    """
    ### BEGIN SOLUTION
    #: position = ...  # (T, 1)
    #: angles = ...  # (T, D / 2), one column for each pair
    position = torch.arange(length)[:, None]  # (T, 1)
    even = torch.arange(0, d_model, 2)  # (D / 2,): the formula's 2i
    angles = position / 10000 ** (even / d_model)  # (T, D / 2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    ### END SOLUTION


# %%
check("1.F", positional_encoding)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# How many different angles are there for one position: d or d/2?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# (T, 1) divided by (D/2,) gives (T, D/2). `table[:, 0::2] = ...` fills every other
# column. If you count with `range(0, d_model, 2)`, what you count is already 2i.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# angles: every position divided by every power; sines into the even columns, cosines
# into the odd ones.
# </details>

# %% slide="skip"
show("position 2", positional_encoding(3, 4)[2])

# %% slide="subslide"
fine = torch.arange(0, 3.5, 0.05)[:, None] / torch.tensor([1.0, 100.0])  # between words
waves = torch.stack([fine.sin(), fine.cos()], -1).flatten(1)
show_figure(
    draw.robot(tired.split()[:4], positions.positional_encoding(4, 4), waves, 20),
    "Above, four waves over positions 0 to 3, two fast, two that hardly move. Below, "
    "the values at each word of The animal did not; no two columns are equal.",
)

# %% [markdown] slide="notes"
# **1 minute.** Ask: which rows of the lower table are the fast hand?
#
# Expect: dimensions 0 and 1. Find the four numbers that we computed, above *did*.
#
# Say: the slow hand hardly moves over a sentence; it is for longer texts.

# %% slide="subslide"
show_figure(
    draw.encoding_map(positions.positional_encoding(64, 128)),
    "Heat map of 64 positions by 128 dimensions: at the left the values change from "
    "row to row, to the right ever more slowly; the last columns look the same in all.",
)

# %% [markdown] slide="notes"
# **1 minute.** Ask: where is the binary table in this picture?
#
# Expect: "at the left, the fast digits".
#
# Say: with four columns two positions far apart nearly coincide; with many, hands of
# many speeds keep all of them apart.

# %% [markdown]
# This map is the binary table again, made smooth and mirrored: at the left the fast
# digits, at the right the slow ones. Two guesses before you run: with only four
# columns, are 5,000 positions still all different? And does the dot product of two rows
# depend on where they are, or on their **distance** alone?

# %% tags=["nbval-check-output"] slide="subslide"
for d_model in (4, 512):
    table = positions.positional_encoding(5000, d_model)
    print(f"d_model {d_model:3}: {len(table.unique(dim=0))} different rows of 5000")

table = positions.positional_encoding(150, 128, torch.float64)
dots = table @ table.T
show("from position 0, distance 0, 1, 10, 40", dots[0, [0, 1, 10, 40]], 2)
show("from position 50, the same distances", dots[50, [50, 51, 60, 90]], 2)

# %%
show_figure(
    draw.nearness(
        {"from position 0": dots[0, :100], "from position 50": dots[50, 50:]}
    ),
    "Dot product of two rows against their distance, from position 0 and from position "
    "50: the same curve twice, falling from 64, with small waves.",
)

# %% [markdown]
# Four columns already differ for 5,000 positions, but positions 1127 and 3012 are only
# 0.04 apart there; with 512 columns no two are closer than 3.7, because among hands of
# many speeds some show small distances and some large ones. And the dot product depends
# on the distance alone, because each hand contributes sin a · sin b + cos a · cos b,
# which is cos(a − b). It falls with the distance, though not steadily.

# %% [markdown] slide="subslide"
# Why add the two vectors, and not append one to the other? Appended, the positions
# would make every later matrix wider, and somebody would have to decide how many
# numbers they deserve. Added, they cost no width, and there is room for both: two
# random directions among 384 are nearly at right angles. It is the habit of the whole
# model: each layer adds what it has found to the same vector (lesson 04).

# %% [markdown] slide="skip"
# There is a plainer way than clocks: a second table, with a row for each position,
# trained like the first. The paper of 2017 tried both and found nearly the same quality
# (section 3.5). GPT-2 has such a table, and so has MiniLM, which reads at most 512
# tokens. What shape has it, and what is the price?

# %% tags=["nbval-check-output"] slide="skip"
learned = load_encoder().embeddings.position_embeddings.weight.detach()
print("words:", tuple(minilm.shape), "positions:", tuple(learned.shape))
print("sum:", tuple((minilm[ids] + learned[: ids.shape[1]]).shape))

# %% [markdown] slide="skip"
# Nothing has to be computed, but position 512 has no row, while the formula has one for
# any position. In lesson 02 a head learns such rows while you watch.

# %% [markdown] slide="subslide"
# Now put your parts together: tokens, ids, your look-up, your positions. (The words are
# multiplied by √d first, so that the positions don't drown them.) Put in a sentence of
# your own, too, with a word that comes twice.


# %%
def placed(sentence: str) -> tuple[list[str], Tensor]:
    """The tokens of a sentence, and their vectors with positions, (T, D)."""
    tokens = tokenizer.tokenize(sentence)
    x = embed(minilm, torch.tensor(tokenizer.convert_tokens_to_ids(tokens)))
    return tokens, x * x.shape[1] ** 0.5 + positional_encoding(*x.shape)


sentence = tired  # or your own
tokens, x = placed(sentence)
for token in sorted({one for one in tokens if tokens.count(one) > 1}):
    at, then = [n for n, one in enumerate(tokens) if one == token][:2]
    cosine = F.cosine_similarity(x[at], x[then], dim=0)
    show(f"{token!r} at {at} and at {then}: cosine", cosine, 2)
its = [placed(one)[1][8] for one in (tired, wide)]  # (D,) each
print("'it', in both sentences, alike:", torch.equal(*its))

# %% [markdown]
# The two *the* differ now, though only a little. But *it* stands at position 8 in both
# sentences, so even now it has one vector for the tired animal and the wide street. No
# table can do better: what *it* means depends on the words around it. How it takes
# something from them is lesson 02.

# %% [markdown] slide="slide"
# ## Bugs from the wild
#
# Three mistakes that were published. None raises an error.
#
# - **A sentence taken for a word.** `out[0]` was printed as the vector of a word. The
#   first axis counts sentences (1.B).
# - **A table for a million words, to show three.** How much memory is that? (1.G)
# - **A doubled exponent** in the positions: everything obvious still holds. Can you
#   find a test that sees it? (1.L)

# %% [markdown] slide="skip"
# ## Going further
#
# The core is whole; what follows is optional. First, more on tables.

# %% [markdown] exercise="1.G"
# `nn.Embedding(1_000_000, 300)` was built to show three words. How many **bytes** is
# that table? Work it out *before* you ever run such a cell, and store a number.

# %% exercise="1.G"
### BEGIN SOLUTION
table_bytes = 1_000_000 * 300 * 4  # a float32 takes 4 bytes
### END SOLUTION

# %%
check("1.G", table_bytes)

# %% [markdown] slide="skip"
# <details><summary>Hint: a question</summary>
#
# How many numbers are in the table, and how many bits has a float32?
# </details>

# %% tags=["nbval-check-output"]
on_paper = nn.Embedding(1_000_000, 300, device="meta")  # shapes only, nothing allocated
print(f"{on_paper.weight.nbytes / 2**30:.3f} GiB")

# %% [markdown]
# The five-word table above was filled by counting: .1, .2, .3 and so on. Its rows all
# point in nearly the same direction, so every word looks like every other:

# %% tags=["nbval-check-output"]
show("cosines of animal", F.cosine_similarity(E[0], E))
show("cosine of tired, wide", F.cosine_similarity(E[3], E[4], dim=0), 5)

# %% [markdown] exercise="1.H"
# Three tables of 300 rows: one fresh from `nn.Embedding`, one filled by counting, like
# the five-word table, one trained. Below is how often each cosine occurs between two
# different rows (mind the logarithmic axis). **Which is the trained one?** Store its
# letter.


# %%
def cosines_of_pairs(table: Tensor) -> Tensor:
    """Each pair of different rows once."""
    rows = F.normalize(table, dim=1)
    above = torch.ones(len(rows), len(rows), dtype=torch.bool).triu(1)
    return (rows @ rows.T)[above]


tables = word_vectors.mystery_tables()
mystery = {name: cosines_of_pairs(table) for name, table in tables.items()}
show_figure(
    draw.histograms(mystery),
    "Three histograms of cosines. A is a narrow bell around 0, B stands close to 1, "
    "C is a bell around 0 with a long tail to the right, up to about 0.75.",
)

# %% exercise="1.H"
### BEGIN SOLUTION
trained_table = "C"
### END SOLUTION

# %%
check("1.H", trained_table)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# A word is unlike most words and like a few. What does that do to a histogram?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# Random directions in D dimensions have cosines that spread by about 1/√D around 0.
# </details>

# %% [markdown]
# So a table says nothing about meaning until it is trained. Over all words, even the
# *best* neighbour of an untrained row is far away:

# %% tags=["nbval-check-output"]
untrained = torch.randn(vectors.shape, generator=torch.Generator().manual_seed(1))
best = {}
for name, table in (("untrained", untrained), ("trained", vectors)):
    rows = F.normalize(table, dim=1)
    cosines = rows[::50] @ rows.T  # every 50th word with all words
    spread = cosines[cosines < 0.9999].std()
    best[name] = cosines.topk(2).values[:, 1].mean()  # the first is the word itself
    print(f"{name:10} spread {spread:.3f}   best neighbour {best[name]:.2f}")
print(f"1/sqrt(D)  {vectors.shape[1] ** -0.5:.3f}")
assert best["trained"] > 2 * best["untrained"]

# %% [markdown]
# Here are more words, in the plane that PCA chooses for them. Groups that are apart on
# such a map are at least as far apart in the full 384 dimensions, but words that are
# close on it may differ in what it leaves out. The table below the map leaves nothing
# out: it holds the cosines between eleven of the words.

# %% slide="subslide"
groups = {
    "animals": "dog puppy cat kitten horse sheep",
    "places": "france paris germany berlin italy rome",
    "numbers": "two three four six seven",
    "music": "guitar piano violin song singer",
    "motion": "swimming swam running walked walking",
}
groups = {name: line.split() for name, line in groups.items()}
chosen = [row_of[word] for line in groups.values() for word in line]
show_figure(
    draw.word_map(groups, draw.plane(vectors[chosen])),
    "27 words in a plane: places, numbers and animals form groups of their own; words "
    "of music and of motion lie near each other in between.",
)

# %% slide="subslide"
some = "dog puppy cat kitten paris berlin france two three guitar piano".split()
few = F.normalize(vectors[[row_of[word] for word in some]], dim=1)
show_figure(
    draw.similarity_map(some, few @ few.T),
    "A table of cosines between eleven words. Dark blocks on the diagonal: dog, puppy, "
    "cat and kitten; paris, berlin and france; two and three; guitar and piano.",
)

# %% [markdown] slide="slide"
# ### Positions in a model
#
# A **module** adds the positions, so that the table moves with the model, and before
# that the word vectors are **scaled**.

# %% [markdown] exercise="1.J"
# The table is no parameter: training must not change it. But it belongs to the module
# and has to move to the GPU with it. Such a tensor is a **buffer**: `self.table =
# nn.Buffer(tensor)`. (In older code the whole line reads
# `self.register_buffer("table", tensor)`.) The values come from the course's function.


# %% exercise="1.J"
class PositionalEncoding(nn.Module):
    """Add to each vector the row of its position."""

    def __init__(self, d_model: int, max_length: int) -> None:
        super().__init__()
        rows = positions.positional_encoding(max_length, d_model)  # (max_length, D)
        ### BEGIN SOLUTION
        self.table = nn.Buffer(rows)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D), with T at most max_length."""
        ### BEGIN SOLUTION
        return x + self.table[: x.shape[1]]
        ### END SOLUTION


# %%
check("1.J", PositionalEncoding)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# x is (B, T, D), the table (max_length, D). How many of its rows do you need?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# (T, D) broadcasts to (B, T, D): the batch axis needs nothing. Which axis of `x` is T?
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# init: keep the rows as a buffer; forward: x plus the first T rows.
# </details>

# %% tags=["nbval-check-output"]
module = positions.PositionalEncoding(d_model=300)
print(
    "parameters:",
    len(list(module.parameters())),
    " buffers:",
    len(list(module.buffers())),
)
before = torch.randn(1, 3, 300, generator=torch.Generator().manual_seed(0))
after = module(before)  # three words of 300 numbers, the same shape as before
print(tuple(before.shape), "->", tuple(after.shape))
show("added to the third word", (after - before)[0, 2, :4])

# %% [markdown]
# How loud is the position beside the word? A row of the encoding has length √(d/2), as
# sine² plus cosine² is 1. A word vector of standard normal numbers has about √d. The
# paper multiplies the word by √d before it adds (section 3.4). Watch what that does:

# %% tags=["nbval-check-output"]
d_model, draws = 300, torch.Generator().manual_seed(0)
position_length = positions.positional_encoding(50, d_model).norm(dim=1).mean()
for name, std in (("normal, std 1", 1.0), ("small, std 1/sqrt(d)", d_model**-0.5)):
    word = std * torch.randn(50, d_model, generator=draws)
    for factor in (1, d_model**0.5):
        share = position_length / (factor * word).norm(dim=1).mean()
        print(f"{name:21} factor {factor:5.2f}  position / word {share:.2f}")

# %% [markdown]
# With `nn.Embedding`'s default start (std 1) the factor drowns the position: 0.04. It
# fits tables that start small, with std 1/√d, for example when the same table
# is also the output layer: there 12.14 becomes 0.70. The factor and the start belong
# together.

# %% [markdown] exercise="1.K"
# Put it together as the paper does: look up, multiply the **word vectors** by √d_model,
# add the position's row. This is what the first layer of the encoder gets in lesson 04.


# %% exercise="1.K"
def encoder_input(table: Tensor, ids: Tensor, encoding: Tensor) -> Tensor:
    """Word vectors times the root of d_model, plus positions.

    Args:
        table: (V, D), the word vectors
        ids: (B, T)
        encoding: (max_length, D), a row for each position, max_length >= T

    Returns:
        (B, T, D)
    """
    ### BEGIN SOLUTION
    _, length = ids.shape
    loud = table[ids] * table.shape[1] ** 0.5  # (B, T, D)
    return loud + encoding[:length]
    ### END SOLUTION


# %%
check("1.K", encoder_input)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Which axis of `ids` counts the words of a sentence?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# d_model is the width of the table. Multiply before you add.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# rows of the ids; times the root of the width; plus as many rows of the encoding as
# there are words in a sentence.
# </details>

# %% [markdown] slide="slide"
# ### Break it: a table that only looks right
#
# One of these two tables has the doubled exponent. Could you tell which, if you did not
# know the other?


# %% locked=true
def suspicious_encoding(length, d_model):
    """Right or wrong?"""
    encoding = torch.zeros(length, d_model)
    for pos in range(length):
        for i in range(0, d_model, 2):
            angle = pos / 10000 ** (2 * i / d_model)
            encoding[pos, i] = math.sin(angle)
            encoding[pos, i + 1] = math.cos(angle)
    return encoding


# %% tags=["nbval-check-output"]
for make in (positions.positional_encoding, suspicious_encoding):
    table = make(40, 300)
    dots = table @ table.T
    first = table[0].view(-1, 2).unique(dim=0).tolist()
    steady = all(dots.diagonal(gap).std() < 1e-3 for gap in range(30))
    print(f"{make.__name__:20} shape {tuple(table.shape)}, row 0 repeats {first[0]}")
    print(f"    squared length {dots.diagonal().mean():.1f}, rows all different: "
          f"{len(table.unique(dim=0)) == 40}, distance only: {steady}")  # fmt: skip

# %% [markdown] exercise="1.L"
# Everything obvious holds for both. Write a **test** that separates them:
# `looks_right(make)` calls any such function with sizes of your choice and returns True
# only if its table is right. Compare with numbers that you know, not with another such
# function. It will meet other mistakes, too, so don't test only for this one.


# %% exercise="1.L"
def looks_right(make) -> bool:
    """Test a function that makes tables of positions.

    Args:
        make: takes (length, d_model), should return the table (length, d_model)

    Returns:
        True if it passes, False if something is wrong with it.
    """
    ### BEGIN SOLUTION
    table = make(3, 4)
    if table.shape != (3, 4):
        return False
    by_hand = torch.tensor([math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)])
    return torch.allclose(table[2].float(), by_hand, atol=1e-4)
    ### END SOLUTION


# %%
check("1.L", looks_right)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# Shape, lengths, row 0 and distances hold at *any* frequencies. What depends on them?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# You have computed four numbers by hand. Which of them would come out differently here?
# You know four digits of it, so leave that much room: `torch.allclose(..., atol=1e-3)`.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# a small table; right shape, else False; one row beyond row 0, all its numbers against
# values that you know.
# </details>

# %%
print("suspicious_encoding looks right:", looks_right(suspicious_encoding))

# %% [markdown]
# `i` runs 0, 2, 4: it already *is* the 2i of the formula, so the exponent is doubled.
# The hands slow down too fast, and 131 of 300 columns stand still over 512 words, not
# 7.

# %% tags=["nbval-check-output"]
right, wrong = positions.positional_encoding(512, 300), suspicious_encoding(512, 300)
show("position 2, right", right[2, :6])
show("position 2, wrong", wrong[2, :6])
print("columns apart at position 2:", ((right - wrong)[2].abs() > 1e-3).sum().item())
print(
    "columns that stand still:",
    *((t.std(0) < 1e-3).sum().item() for t in (right, wrong)),
)

# %% [markdown] slide="slide"
# ### A step is a rotation
#
# You saw that the dot product of two rows depends on their distance only. The clocks
# say more than that: moving by k positions turns every hand by a fixed angle, the same
# wherever it starts.

# %% [markdown] exercise="1.M"
# So there is **one matrix** for each k with $M_k\,PE_{pos} = PE_{pos+k}$, wherever you
# start. (The paper hoped that this makes it easy to learn "k words further".) Build it.


# %% exercise="1.M"
def shift_matrix(k: int, d_model: int) -> Tensor:
    """The matrix that turns the encoding of pos into that of pos + k, for every pos.

    Args:
        k: how far, in positions; may be negative
        d_model: even

    Returns:
        (D, D) in float32, to be multiplied from the left with a row of the table.
    """
    ### BEGIN SOLUTION
    matrix = torch.zeros(d_model, d_model)
    for even in range(0, d_model, 2):
        turn = torch.tensor(k / 10000 ** (even / d_model))
        matrix[even, even], matrix[even, even + 1] = turn.cos(), turn.sin()
        matrix[even + 1, even], matrix[even + 1, even + 1] = -turn.sin(), turn.cos()
    return matrix
    ### END SOLUTION


# %%
check("1.M", shift_matrix)

# %% [markdown] slide="skip"
# <details><summary>Hint 1: a question</summary>
#
# sin(a + b) = sin a cos b + cos a sin b. Which two numbers of a row are sin a and cos
# a?
# </details>
# <details><summary>Hint 2: a pointer</summary>
#
# The matrix is zero except for 2 × 2 blocks along its diagonal, one for each pair.
# cos(a + b) = cos a cos b − sin a sin b gives the second row of a block.
# </details>
# <details><summary>Hint 3: pseudocode</summary>
#
# for each pair: angle of k steps; its block: (cosine, sine) above (minus sine, cosine).
# </details>

# %%
table_of_six = positions.positional_encoding(30, 6)
moved = table_of_six[:20] @ shift_matrix(7, 6).T  # rows, so the matrix is transposed
apart_by = (moved - table_of_six[7:27]).abs().max()
show("largest difference from 7 positions later", apart_by)

# %% [markdown] slide="subslide"
# Many of today's models, Llama among them, go one step further and add nothing.
# **RoPE**, rotary position embedding (arXiv 2104.09864), takes the two vectors whose
# dot product will be a score, lesson 02's query and key, and turns each pair of their
# numbers by the angle of its position. Below, the same two vectors at five pairs of
# positions. Which scores will be equal?

# %% tags=["nbval-check-output"]
draws = torch.Generator().manual_seed(0)
query, key = torch.randn(2, 64, generator=draws, dtype=torch.float64)


def turned(x: Tensor, position: int) -> Tensor:
    """Turn each pair of numbers by the angle of a position: (D,) -> (D,)."""
    even = torch.arange(0, len(x), 2, dtype=x.dtype)
    angle = position / 10000 ** (even / len(x))  # (D / 2,)
    a, b = x[0::2], x[1::2]
    turns = a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()
    return torch.stack(turns, -1).flatten()


for m, n in ((0, 3), (50, 53), (1000, 1003), (3, 0), (0, 9)):
    score = turned(query, m) @ turned(key, n)
    print(f"query at {m:4}, key at {n:4}: score {score:7.4f}")
    same = turned(query, 0) @ turned(key, n - m)
    assert (score - same).abs() < 1e-9

# %% [markdown]
# The first three are 3 apart and equal, wherever they stand: the score knows how far
# the key is from the query and on which side, and nothing else of their positions.

# %% [markdown] exercise="1.N" slide="slide"
# *Dog bites man* and *man bites dog* were the same to a mean of rows. Is a whole model
# cleverer? The cell below takes the mean of what comes out of MiniLM's six layers of
# attention; once as it was trained, and once with its table of positions set to zero.
# **Explain** what you see, in five or six sentences: why can't six layers of attention
# find out who bites, once the positions are gone, and what do the positions change?
# (All you need of lesson 02: attention makes each token's new vector a weighted sum
# over all tokens, with weights that depend on the vectors alone.)

# %% tags=["nbval-check-output"]
encoder = load_encoder()
both = tokenizer(["dog bites man", "man bites dog"], return_tensors="pt")


def apart() -> Tensor:
    """1 - cosine of the two sentences."""
    with torch.no_grad():
        first, second = encoder(**both).last_hidden_state.mean(1)  # (D,) each
    return 1 - F.cosine_similarity(first, second, dim=0)


with_positions = apart()
encoder.embeddings.position_embeddings.weight.data.zero_()
without = apart()
show("1 - cosine, with positions", with_positions, 2)
show("1 - cosine, without", without)
assert with_positions > 0.02 and without.abs() < 1e-5

# %% [markdown] answer="1.N"
# ### BEGIN SOLUTION
# **Model answer.** Without positions, the input of a token is its word's row, so both
# sentences hand the same five vectors to the first layer, only in another order.
# Attention compares every vector with every other and sums up with weights; a sum does
# not know in which order its terms came. So if the inputs change places, the outputs
# change places in the same way and stay the same otherwise (the layer is *permutation
# equivariant*). The feed-forward part and the layer norm work on each token by itself,
# so they don't help, and no number of such layers does. In the mean over the tokens
# even the order of the outputs is gone: both sentences have the same vector, up to
# rounding. Adding a vector that depends on the position makes "dog at 1" and "dog at 3"
# different inputs, and then the layers can tell.
#
# **Rubric (3 points).** 1: same set of input vectors, only permuted. 1: attention (and
# the other layers) treat them alike wherever they stand, so outputs are permuted only,
# at any depth. 1: says what the mean does and how positions repair it.
# ### END SOLUTION

# %% [markdown] slide="slide"
# ## What you can do now
#
# - Turn a sentence into tokens, ids and vectors, and read every axis of the result.
# - Train vectors, and tell a trained table from a fresh one by its neighbours.
# - Compare words by cosine, and doubt an analogy: which words were excluded?
# - Write positions from the formula, and test them by a number that you know.
#
# Lesson 02 needs the dot product as a measure of likeness, and the puzzle: *it* has one
# vector, and has to find the animal.

# %% [markdown] slide="notes"
# **5 minutes.** Ask: what do our two *it* have in common, now that each word has its
# position as well?
#
# Expect: "everything", after a moment: position 8 in both sentences.
#
# Say: no table can do better; what *it* means depends on the words around it. That is
# lesson 02. Then take their questions.

# %% [markdown] slide="skip"
# **References.** Vaswani et al. 2017, *Attention Is All You Need* (arXiv 1706.03762),
# sections 3.4 and 3.5. For analogies, Mikolov et al. 2013, *Efficient Estimation of
# Word Representations* (arXiv 1301.3781) and *Linguistic Regularities* (NAACL 2013);
# for what the exclusion does to them, Linzen 2016 (arXiv 1606.07736). For RoPE, Su et
# al. 2021 (arXiv 2104.09864). For the table, Reimers and Gurevych 2019, *Sentence-BERT*
# (arXiv 1908.10084), and Wang et al. 2020, *MiniLM* (arXiv 2002.10957).
