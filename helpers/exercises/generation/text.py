"""11.G: from a prompt to a text, with the usual settings.

What is sampled is judged by what can come up and what can't: by a set of letters, not a
sequence of them. One number is a frequency; its odds are given where it is set.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises import kit
from helpers.exercises.generation.shared import END, NEVER, Fixed, Letters, Toy
from helpers.exercises.kit import exchanging, normal
from helpers.generation import sampling

LOUD = 1e3  # drowns every other score
DRAWS = 50  # a letter of probability 0.26 stays away with 0.74 ** 50 = 3e-7
COINS = 50  # of two letters, 0.97 and 0.03: fewer than 40 times the first, odds 2e-7


def generate_text(
    model: Any,
    tokenizer: Any,
    prompt: str,
    max_new_tokens: int = 100,
    temperature: float = 0.7,
    top_k: int = 50,
    top_p: float = 0.95,
    no_repeat_ngram_size: int = 2,
    generator: torch.Generator | None = None,
) -> str:
    """The course's own answer to 11.G."""
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    how = sampling.Settings(temperature, top_k, top_p, no_repeat_ngram_size)
    end = tokenizer.eos_token_id
    ids = sampling.sample(model, ids, max_new_tokens, how, generator, end)
    return tokenizer.decode(ids[0], skip_special_tokens=True)


class Story(Toy):
    """A model that likes some pairs of letters, and ends when it is told to."""

    def __init__(self, draw: torch.Generator, size: int, due: int) -> None:
        self.table, self.due, self.read = 3 * normal(draw, size, size), due, 0

    def scores(self, ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, V)."""
        scores = self.table[ids]
        scores[..., END] = -LOUD
        if ids.shape[1] >= self.due:
            scores[:, self.due - 1 :, END] = LOUD
        return scores


def _says(*shares: float) -> Fixed:
    """A model of letters with these probabilities; it never ends a text."""
    return Fixed([-LOUD, *torch.tensor(shares, dtype=torch.float64).log().tolist()])


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _text(call: Callable, model: Toy, prompt: str, how: dict, seed: int) -> Look:
    return Look(
        {"text": call(model, Letters(), prompt, generator=_seeded(seed), **how)}
    )


def _draws(
    call: Callable, model: Toy, prompt: str, how: dict, seed: int, count: int
) -> list[Any]:
    """The last letter of many texts that are one token longer than the prompt."""
    draw = _seeded(seed)
    texts = [
        call(model, Letters(), prompt, max_new_tokens=1, generator=draw, **how)
        for _ in range(count)
    ]
    return [text[-1:] if isinstance(text, str) else text for text in texts]


def _which(call: Callable, model: Toy, prompt: str, how: dict, seed: int) -> Look:
    letters = _draws(call, model, prompt, how, seed, DRAWS)
    if not all(isinstance(letter, str) for letter in letters):
        return Look({"text": letters[0]})
    kinds = sorted(set(letters))
    counts = ", ".join(f"{letter} {letters.count(letter)} times" for letter in kinds)
    return Look({"letters that come up": " ".join(kinds)}, {"counts": counts})


def _how_often(call: Callable, model: Toy, prompt: str, how: dict, seed: int) -> Look:
    letters = _draws(call, model, prompt, how, seed, COINS)
    often = kit.near(letters.count("a"), COINS, 0.97, sigmas=6.5)
    return Look({"the most likely letter as often as it should": often})


def _seeds(call: Callable, model: Toy, prompt: str, how: dict, seed: int) -> Look:
    first, again, other = (
        call(model, Letters(), prompt, generator=_seeded(one), **how)
        for one in (seed, seed, seed + 1)
    )
    same = {"same seed, same text": bool(first == again)}
    clue = {"text": first if isinstance(first, str) else "none"}
    return Look(same | {"another seed, another text": bool(first != other)}, clue)


def _cases(seed: int) -> list[Case]:
    draw = _seeded(seed)

    def case(name: str, look: Callable, model: Toy, prompt: str, **how: Any) -> Case:
        names = ("model", "prompt", "settings", "seed")
        return Case(name, (model, prompt, how, seed), inputs=names, look=look)

    def story(name: str, prompt: str, new: int, n: int, due: int = 99) -> Case:
        how = {"max_new_tokens": new, "top_k": 1, "no_repeat_ngram_size": n}
        return case(name, _text, Story(draw, 9, due), prompt, **how)

    few = _says(0.50, 0.30, 0.10, 0.04, 0.02, 0.02, 0.01, 0.01)
    many = _says(0.24, 0.23, 0.22, 0.21, 0.05, 0.03, 0.01, 0.01)
    three = _says(0.30, 0.27, 0.25, *[0.18 / 5] * 5)  # 0.57 of all, 0.70 of three
    even = _says(*[1 / 8] * 8)
    return [
        story("k = 1, no pair twice", "babcbdbeb", 16, 2),
        story("k = 1, no three twice", "caacabcadca", 20, 3),
        story("k = 1, a text that ends", "bd", 12, 2, due=7),
        case("which letters come up, hot", _which, few, "h",
             temperature=4.0, top_k=3, top_p=0.77),
        case("which letters come up", _which, many, "h",
             temperature=1.0, top_k=6, top_p=0.6),
        case("which letters come up, k before p", _which, three, "h",
             temperature=1.0, top_k=3, top_p=0.63),
        case("how often", _how_often, _says(0.873, 0.027, *[0.1 / 6] * 6), "h",
             temperature=1.0, top_k=2, top_p=0.999),
        case("seeds", _seeds, even, "h", max_new_tokens=8, top_k=8, top_p=1.0,
             no_repeat_ngram_size=6),
    ]  # fmt: skip


def _usual(logits: Tensor, ids: Tensor, prompt: Tensor, how: dict) -> Tensor:
    return _after(logits, ids, how, ("n", "t", "k", "p"))


def _after(logits: Tensor, ids: Tensor, how: dict, order: tuple[str, ...]) -> Tensor:
    """The filters in some order."""
    steps: dict[str, Callable] = {
        "n": lambda x: sampling.no_repeat_ngram_filter(x, ids, how["n"]),
        "t": lambda x: sampling.apply_temperature(x, how["t"]),
        "T": lambda x: x * how["t"],
        "s": lambda x: x.softmax(-1),
        "k": lambda x: sampling.top_k_filter(x, how["k"]),
        "p": lambda x: sampling.top_p_filter(x, how["p"]),
    }
    for step in order:
        logits = steps[step](logits)
    return logits


def _lot(scores: Tensor, generator: torch.Generator | None) -> Tensor:
    return torch.multinomial(scores.softmax(-1), 1, generator=generator)


def _even(scores: Tensor, generator: torch.Generator | None) -> Tensor:
    return torch.multinomial((scores > NEVER).double(), 1, generator=generator)


def _generate(
    model: Any,
    tokenizer: Any,
    prompt: str,
    max_new_tokens: int = 100,
    temperature: float = 0.7,
    top_k: int = 50,
    top_p: float = 0.95,
    no_repeat_ngram_size: int = 2,
    generator: torch.Generator | None = None,
    *,
    fed: Callable = lambda ids: ids,
    chain: Callable = _usual,
    choose: Callable = _lot,
    steps: Callable = lambda new, prompt: new,
    stop: bool = True,
    skip: bool = True,
    finish: Callable = lambda ids, prompt: ids,
) -> str:
    """Generation with one step exchanged."""
    prompt_ids = ids = tokenizer(prompt, return_tensors="pt").input_ids
    how = {"t": temperature, "k": top_k, "p": top_p, "n": no_repeat_ngram_size}
    for _ in range(steps(max_new_tokens, prompt_ids)):
        scores = chain(model(fed(ids)).logits[:, -1], ids, prompt_ids, how)
        ids = torch.cat([ids, choose(scores, generator)], 1)
        if stop and ids[0, -1] == tokenizer.eos_token_id:
            break
    return tokenizer.decode(finish(ids, prompt_ids)[0], skip_special_tokens=skip)


swap = exchanging(_generate)


def _order(*order: str) -> Callable:
    return swap(chain=lambda x, ids, prompt, how: _after(x, ids, how, order))


def _new_only(logits: Tensor, ids: Tensor, prompt: Tensor, how: dict) -> Tensor:
    return _after(logits, ids[:, prompt.shape[1] :], how, ("n", "t", "k", "p"))


def _prompt_only(logits: Tensor, ids: Tensor, prompt: Tensor, how: dict) -> Tensor:
    return _after(logits, prompt, how, ("n", "t", "k", "p"))


def _always_seeded(seed: int) -> Callable:
    return swap(choose=lambda scores, _: _lot(scores, _seeded(seed)))


MISTAKES = (
    mistake(
        "argmax called sampling",
        "The most likely token was taken each time: nothing is sampled.",
        "Where does chance come in? Look for `argmax` or `topk(1)`.",
        swap(choose=lambda scores, _: scores.argmax(-1, keepdim=True)),
    ),
    mistake(
        "all that are left equally likely",
        "All tokens that the filters left had the same chance.",
        "Which numbers does the draw take as probabilities?",
        swap(choose=_even),
    ),
    mistake(
        "temperature after the filter",
        "The temperature came after top-p, so top-p chose from another distribution "
        "than the one that is drawn from.",
        "In which order are your four steps?",
        _order("n", "k", "p", "t"),
        _order("n", "p", "k", "t"),
    ),
    mistake(
        "top-p before top-k",
        "Top-p came before top-k: it measured its share before the tail was cut off, "
        "so more tokens were left.",
        "In which order are your four steps?",
        _order("n", "t", "p", "k"),
    ),
    mistake(
        "temperature forgotten",
        "The temperature changes nothing.",
        "Follow `temperature` through your code.",
        _order("n", "k", "p"),
    ),
    mistake(
        "temperature multiplied",
        "The scores were multiplied by the temperature.",
        "A low temperature should make likely tokens even more likely. Does yours?",
        _order("n", "T", "k", "p"),
    ),
    mistake(
        "top-k forgotten",
        "More than top_k tokens could come up.",
        "Follow `top_k` through your code.",
        _order("n", "t", "p"),
    ),
    mistake(
        "top-p forgotten",
        "Tokens came up that top-p blocks.",
        "Follow `top_p` through your code.",
        _order("n", "t", "k"),
    ),
    mistake(
        "softmax before the filters",
        "The filters got probabilities, and what they left went through another "
        "softmax, which makes unlikely tokens nearly as likely as the others.",
        "Count the softmaxes between the model's scores and the draw.",
        _order("n", "t", "s", "k", "p"),
        _order("t", "s", "n", "k", "p"),
        _order("s", "n", "t", "k", "p"),
    ),
    mistake(
        "the last token only",
        "The model got only the last token, so it knows nothing of what comes before "
        "it.",
        "What does the model have to know to continue your prompt?",
        swap(fed=lambda ids: ids[:, -1:]),
    ),
    mistake(
        "n-grams of the prompt only",
        "Only the prompt was searched for runs, not what has been written since.",
        "Which ids does your n-gram filter get in the tenth round?",
        swap(chain=_prompt_only),
    ),
    mistake(
        "n-grams of the new tokens only",
        "Only what has been written since was searched for runs, not the prompt.",
        "Which ids does your n-gram filter get in the first round?",
        swap(chain=_new_only),
    ),
    mistake(
        "n-grams forgotten",
        "Runs of tokens came up twice.",
        "Follow `no_repeat_ngram_size` through your code.",
        _order("t", "k", "p"),
    ),
    mistake(
        "n-grams last",
        "The n-gram filter came after top-k: with k = 1 it may block the only token "
        "left, and then there is nothing to draw from.",
        "Which filters should see what the n-gram rule has blocked?",
        _order("t", "k", "p", "n"),
        _order("t", "k", "n", "p"),
    ),
    mistake(
        "prompt cut off",
        "The text is there, but the prompt is missing before it.",
        "What does the docstring's last line promise?",
        swap(finish=lambda ids, prompt: ids[:, prompt.shape[1] :]),
    ),
    mistake(
        "special tokens shown",
        "The end-of-text token is in the text.",
        "`decode` has an argument for special tokens.",
        swap(skip=False),
    ),
    mistake(
        "goes on after the end",
        "The model ended its text, but your loop went on writing.",
        "Which id marks the end of a text? Does your loop look for it?",
        swap(stop=False),
    ),
    mistake(
        "prompt counted as new",
        "The prompt was counted among the new tokens.",
        "How many rounds does your loop have?",
        swap(steps=lambda new, prompt: max(new - prompt.shape[1], 0)),
    ),
    mistake(
        "generator unused",
        "The same seed gave another text: the draw does not use the generator.",
        "Follow `generator` through your code.",
        swap(choose=lambda scores, _: _lot(scores, None)),
    ),
    mistake(
        "a seed of its own",
        "Every seed gives the same text: the function seeds itself.",
        "Look for `manual_seed`.",
        *map(_always_seeded, (0, 1, 42, 123, 1234)),
    ),
)

EXERCISES = (
    Exercise(
        "11.G",
        "Generate a text",
        "function",
        difficulty=2,
        points=3,
        core=True,
        answers=(Answer("generate_text", generate_text, {"text": ""}),),
        cases=_cases,
        proves="the order of the filters, what can come up and how often, seeds, the "
        "end of a text",
        misconceptions=MISTAKES,
    ),
)
