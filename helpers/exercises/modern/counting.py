"""12.H: what a decoder costs, read from its config.json."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.kit import exchanging

Facts = Mapping[str, Any]


def count_parameters(facts: Facts) -> int:
    """The course's own answer to 12.H, first part."""
    return _count(facts)


def cache_bytes(facts: Facts, length: int) -> int:
    """The course's own answer to 12.H, second part."""
    return _bytes(facts, length)


def flops_per_token(facts: Facts, length: int) -> int:
    """The course's own answer to 12.H, third part."""
    return _flops(facts, length)


def _width(facts: Facts) -> int:
    """Of a head."""
    alone = facts["hidden_size"] // facts["num_attention_heads"]
    return facts.get("head_dim") or alone


def _by_division(facts: Facts) -> int:
    return facts["hidden_size"] // facts["num_attention_heads"]


def _heads(facts: Facts) -> int:
    """Of queries and output, of keys and values, in one layer."""
    return 2 * facts["num_attention_heads"] + 2 * facts["num_key_value_heads"]


def _all_heads(facts: Facts) -> int:
    return 4 * facts["num_attention_heads"]


def _tables(facts: Facts) -> int:
    return 1 if facts["tie_word_embeddings"] else 2


def _count(
    facts: Facts,
    *,
    width: Callable = _width,
    heads: Callable = _heads,
    matrices: int = 3,
    layer_norms: int = 2,
    last_norm: int = 1,
    tables: Callable = _tables,
    more: Callable = lambda facts: 0,
    layers: Callable = lambda facts: facts["num_hidden_layers"],
) -> int:
    d_model, d_ff = facts["hidden_size"], facts["intermediate_size"]
    layer = heads(facts) * width(facts) * d_model
    layer += matrices * d_model * d_ff + layer_norms * d_model
    table = facts["vocab_size"] * d_model
    whole = layers(facts) * layer + last_norm * d_model + tables(facts) * table
    return whole + more(facts)


def _bytes(
    facts: Facts,
    length: int,
    *,
    both: int = 2,
    each: int = 2,
    heads: Callable = lambda facts: facts["num_key_value_heads"],
    width: Callable = _width,
    layers: Callable = lambda facts: facts["num_hidden_layers"],
    tokens: Callable = lambda length: length,
) -> int:
    numbers = both * layers(facts) * heads(facts) * width(facts)
    return numbers * tokens(length) * each


def _flops(
    facts: Facts,
    length: int,
    *,
    each: int = 2,
    looks: int = 2,
    heads: Callable = lambda facts: facts["num_attention_heads"],
    tables: int = 1,
    norms: int = 0,
    tokens: Callable = lambda length: length,
    width: Callable = _width,
    more: Callable = lambda facts: 0,
) -> int:
    matrices = _count(
        facts,
        layer_norms=2 * norms,
        last_norm=norms,
        tables=lambda facts: tables,
        width=width,
        more=more,
    )
    looked = looks * facts["num_hidden_layers"] * heads(facts) * width(facts)
    return each * (matrices + looked * tokens(length))


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def between(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=draw))

    def facts(tied: bool, groups: int, head_dim: int = 0) -> dict[str, Any]:
        few = between(2, 4)
        heads = few * groups
        found = {
            "vocab_size": between(50, 90),
            "hidden_size": heads * 2 * between(3, 6),
            "intermediate_size": between(91, 140),
            "num_hidden_layers": between(3, 5),
            "num_attention_heads": heads,
            "num_key_value_heads": few,
            "tie_word_embeddings": tied,
            # What a config.json holds besides, and `read_config` asks for.
            "model_type": "llama",
            "max_position_embeddings": between(200, 300),
            "rms_norm_eps": 1e-5,
        }
        return found | ({"head_dim": head_dim} if head_dim else {})

    wide = 2 * between(20, 30)
    some = {
        "tied": facts(True, 3),
        "not tied": facts(False, 2),
        "a width of a head of its own": facts(False, 3, wide),
    }
    cases = [Case(name, (one,), inputs=("facts",), of=0) for name, one in some.items()]
    for of, what in ((1, "the cache"), (2, "a token")):
        for name, one in some.items():
            args = (one, between(10, 19))
            title = f"{what}: {name}"
            cases.append(Case(title, args, inputs=("facts", "length"), of=of))
    return cases


counting = exchanging(_count)
storing = exchanging(_bytes)
working = exchanging(_flops)


def _biases(facts: Facts) -> int:
    """Of the seven matrices of each layer."""
    attention = _width(facts) * (
        facts["num_attention_heads"] + 2 * facts["num_key_value_heads"]
    )
    feed = 2 * facts["intermediate_size"] + facts["hidden_size"]
    layer = attention + facts["hidden_size"] + feed
    return facts["num_hidden_layers"] * layer


COUNT = (
    mistake(
        "keys counted like queries",
        "All heads were counted for keys and values, not the few that there are.",
        "Which entry tells the number of heads of keys and values?",
        counting(heads=_all_heads),
    ),
    mistake(
        "two matrices in the feed-forward",
        "The feed-forward was counted with two matrices.",
        "How many does SwiGLU have?",
        counting(matrices=2),
    ),
    mistake(
        "one table in any case",
        "The output was never counted as a matrix of its own.",
        "What does tie_word_embeddings say?",
        counting(tables=lambda facts: 1),
    ),
    mistake(
        "two tables in any case",
        "The output was always counted as a matrix of its own.",
        "What does tie_word_embeddings say?",
        counting(tables=lambda facts: 2),
    ),
    mistake(
        "tied the wrong way round",
        "The output was counted where it is tied, and left out where it is not.",
        "What does tie_word_embeddings say?",
        counting(tables=lambda facts: 3 - _tables(facts)),
    ),
    mistake(
        "norms forgotten",
        "The gains of the norms in the layers are missing, or all of them.",
        "How many norms are there in a block, and how many behind them?",
        counting(layer_norms=0, last_norm=0),
        counting(layer_norms=0),
        counting(layer_norms=1),
    ),
    mistake(
        "last norm forgotten",
        "The gain of the last norm is missing.",
        "What comes after the blocks?",
        counting(last_norm=0),
    ),
    mistake(
        "norms with biases",
        "Every norm was counted with two vectors, as a layer norm.",
        "What does an RMS norm learn?",
        counting(layer_norms=4, last_norm=2),
    ),
    mistake(
        "biases counted",
        "The matrices were counted with biases.",
        "Does a Llama have biases?",
        counting(more=_biases),
    ),
    mistake(
        "width of a head by division",
        "The width of a head was always found by division.",
        "What if head_dim is there?",
        counting(width=_by_division),
    ),
    mistake(
        "a table of positions",
        "A vector was counted for each position.",
        "Where does this model keep what it knows of positions?",
        counting(
            more=lambda facts: facts["max_position_embeddings"] * facts["hidden_size"]
        ),
    ),
    mistake(
        "one layer",
        "Only one layer was counted.",
        "How many are there?",
        counting(layers=lambda facts: 1),
    ),
)

BYTES = (
    mistake(
        "half of it",
        "A factor of two is missing: keys and values are two things, and a number in "
        "bfloat16 has two bytes.",
        "Which of the two factors is there?",
        storing(both=1),
        of=1,
    ),
    mistake(
        "four bytes each",
        "Each number was counted as four bytes.",
        "How many bits has a number in bfloat16?",
        storing(each=4),
        of=1,
    ),
    mistake(
        "heads of the queries",
        "The cache was counted with as many heads as the queries have.",
        "Which heads does the cache hold?",
        storing(heads=lambda facts: facts["num_attention_heads"]),
        of=1,
    ),
    mistake(
        "cache with a width by division",
        "The width of a head in the cache was always found by division.",
        "What if head_dim is there?",
        storing(width=_by_division),
        of=1,
    ),
    mistake(
        "cache of one layer",
        "Only one layer was counted.",
        "Which layers have keys of their own?",
        storing(layers=lambda facts: 1),
        of=1,
    ),
    mistake(
        "cache of one token",
        "The length of the text has no influence.",
        "Does the cache grow with the text?",
        storing(tokens=lambda length: 1),
        of=1,
    ),
)

FLOPS = (
    mistake(
        "products without sums",
        "Only the products were counted, not the sums.",
        "What does an entry of a matrix cost, by the docstring?",
        working(each=1),
        of=2,
    ),
    mistake(
        "scores forgotten",
        "What the length of the text costs is missing: the scores and the sum of the "
        "values.",
        "Which two products get larger when the text gets longer?",
        working(looks=0),
        of=2,
    ),
    mistake(
        "scores alone",
        "Of what the length costs only one half was counted.",
        "Scores are one product. What happens to the values?",
        working(looks=1),
        of=2,
    ),
    mistake(
        "heads of the keys",
        "The scores were counted for the heads of the keys, but every head of queries "
        "has scores of its own.",
        "How many rows of scores does a token have in a layer?",
        working(heads=lambda facts: facts["num_key_value_heads"]),
        of=2,
    ),
    mistake(
        "look-up counted",
        "The look-up in the embedding was counted as a product, beside the output.",
        "Is anything multiplied where an id becomes a vector?",
        working(tables=2),
        of=2,
    ),
    mistake(
        "output forgotten",
        "The product that scores all tokens is missing.",
        "Which matrix gives the logits, also where it is tied?",
        working(tables=0),
        of=2,
    ),
    mistake(
        "operations with a width by division",
        "The width of a head was always found by division.",
        "What if head_dim is there?",
        working(width=_by_division),
        of=2,
    ),
    mistake(
        "two for each parameter",
        "Two operations were counted for every parameter, and what depends on the "
        "length is missing.",
        "Which parameters are no entries of a matrix that is multiplied?",
        lambda facts, length: 2 * _count(facts),
        of=2,
    ),
    mistake(
        "norms counted",
        "The gains of the norms were counted as if they were matrices.",
        "Which steps does the docstring leave out?",
        working(norms=1),
        of=2,
    ),
    mistake(
        "one token looked at",
        "The length has no influence: the token was taken to look at itself alone.",
        "How many tokens does the new one attend to?",
        working(tokens=lambda length: 1),
        of=2,
    ),
)

EXERCISES = (
    Exercise(
        "12.H",
        "What does it cost?",
        "function",
        difficulty=2,
        points=3,
        answers=(
            Answer("count_parameters", count_parameters, {"parameters": ""}),
            Answer("cache_bytes", cache_bytes, {"bytes": ""}),
            Answer("flops_per_token", flops_per_token, {"FLOPs": ""}),
        ),
        cases=_cases,
        proves="parameters, bytes and operations, tied and not, with a head's own "
        "width and without",
        misconceptions=(*COUNT, *BYTES, *FLOPS),
    ),
)
