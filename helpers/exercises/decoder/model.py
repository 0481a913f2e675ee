"""5.C: the Transformer; 5.H: how many parameters it has."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.encoder.shared import ids_from
from helpers.exercises.kit import exchanging, normal, padded
from helpers.models import transformer
from helpers.models.masks import look_ahead_mask
from helpers.models.transformer import TransformerConfig

# --- 5.C ---


class Transformer(transformer.Transformer):
    """The course's own answer to 5.C; misconceptions exchange one of its methods."""

    bias = "there"  # its final layer may be a student's, so the class itself says it


def _both(call: Any, *inputs: Any) -> Look:
    logits = call.double().eval()(*inputs)
    return Look({"logits": logits, "bias of final_layer": _bias(call)})


def _bias(call: Any) -> str:
    """What the course's classes say of themselves, and what a student's has."""
    if isinstance(call, Transformer):
        return call.bias
    missing = getattr(call.final_layer, "bias", None) is None
    return "missing" if missing else "there"


def _training(call: Any, *inputs: Any) -> Look:
    """From one random state: a rate that was not handed on drops the same places."""
    call.double().train()
    torch.default_generator.manual_seed(1)
    return Look({"logits": call(*inputs)})


def _reading(call: Any, *inputs: Any) -> Look:
    return Look({"memory": call.double().eval().encode(*inputs)})


def _writing(call: Any, *inputs: Any) -> Look:
    return Look({"logits": call.double().eval().decode(*inputs)})


FEW = TransformerConfig(17, 13, 6, 3, 11, 2, 9, 0.1)  # more words to read
MANY = TransformerConfig(13, 19, 10, 5, 7, 1, 8, 0.1, norm_first=True)
LONG = TransformerConfig(7, 5, 4, 2, 3, 1, 520, 0.1)  # longer than by default
RISKY = replace(FEW, dropout=1.0)
NAMES = ("source", "target", "source_mask", "target_mask")


def _inputs(draw: torch.Generator, config: TransformerConfig, *size: int) -> tuple:
    """Source (B, S) and target (B, T), with both ends of their vocabularies."""
    batch, key, query = size
    source = ids_from(draw, config.source_vocab, batch, key)
    target = ids_from(draw, config.target_vocab, batch, query)
    source[0, 0], target[0, 0] = config.source_vocab - 1, config.target_vocab - 1
    return source, target


def _model_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    one = {"init": (FEW,), "inputs": NAMES, "look": _both}
    two = {"init": (MANY,), "inputs": NAMES, "look": _both}
    padding, square = padded(7, 4, length=7), padded(3, 5, length=5)
    few, many = _inputs(draw, FEW, 2, 7, 5), _inputs(draw, MANY, 2, 4, 3)
    memory = normal(draw, 2, 4, 10)
    mask = padded(2, 4, length=4)
    return [
        Case("both, padding in the source", (*few, padding, look_ahead_mask(5)), **one),
        Case("pre-norm, no padding", (*many, None, look_ahead_mask(3)), **two),
        Case(
            "source and target both 5 long",
            (*_inputs(draw, FEW, 2, 5, 5), square, look_ahead_mask(5)),
            **one,
        ),
        Case(
            "encode",
            (few[0], padding),
            inputs=("source", "source_mask"),
            init=(FEW,),
            look=_reading,
        ),
        Case(
            "decode",
            (many[1], memory, look_ahead_mask(3), mask),
            inputs=("target", "memory", "target_mask", "source_mask"),
            init=(MANY,),
            look=_writing,
        ),
        Case(
            "515 words on both sides",
            (*_inputs(draw, LONG, 1, 515, 515), None, look_ahead_mask(515)),
            **{**one, "init": (LONG,)},
        ),
        Case(
            "dropout 1.0, in training",
            (*few, padding, look_ahead_mask(5)),
            **{**one, "init": (RISKY,), "look": _training},
        ),
        Case(
            "the gradient",
            (*many, mask, look_ahead_mask(3)),
            **{**two, "gradient": True},
        ),
    ]


swap = exchanging(Transformer)


def _decoding(decode: Callable) -> type:
    """Another `decode`, which `forward` uses too."""
    return swap(
        decode=lambda self, target, memory, target_mask, source_mask=None: decode(
            self, target, memory, target_mask, source_mask
        )
    )


def _encode_unmasked(self: Any, source: Tensor, source_mask: Any = None) -> Tensor:
    return self.encoder(source)


def _decode_unmasked(
    self: Any, target: Tensor, memory: Tensor, target_mask: Any, source_mask: Any = None
) -> Tensor:
    return self.final_layer(self.decoder(target, memory, target_mask))


def _finishing(finish: Callable) -> type:
    def decode(self, *inputs: Any) -> Tensor:
        return finish(Transformer.decode(self, *inputs))

    return swap(decode=decode)


def _ending(finish: Callable) -> type:
    """The same at the end of `forward` alone."""

    def forward(self, *inputs: Any) -> Tensor:
        return finish(Transformer.forward(self, *inputs))

    return swap(forward=forward)


def _calling(forward: Callable) -> type:
    return swap(
        forward=lambda self, source, target, source_mask, target_mask: forward(
            self, source, target, source_mask, target_mask
        )
    )


def _other_vocabularies(self: Any, config: TransformerConfig) -> None:
    turned = replace(
        config, source_vocab=config.target_vocab, target_vocab=config.source_vocab
    )
    Transformer.__init__(self, turned)


def _left_out() -> list[type]:
    """Encoder and decoder with some options as they are by default."""
    default = TransformerConfig(1, 1)

    def build(names: tuple[str, ...]) -> Callable:
        kept = {name: getattr(default, name) for name in names}
        return lambda self, config: Transformer.__init__(self, replace(config, **kept))

    options = ("max_length", "dropout", "norm_first")
    return [
        swap(__init__=build(names))
        for count in (1, 2, 3)
        for names in combinations(options, count)
    ]


def _decoder_for_source(self: Any, config: TransformerConfig) -> None:
    Transformer.__init__(self, config)
    self.decoder = transformer.Decoder(config.source_vocab, *config.stack)


def _encoder_for_target(self: Any, config: TransformerConfig) -> None:
    Transformer.__init__(self, config)
    self.encoder = transformer.Encoder(config.target_vocab, *config.stack)


def _source_everywhere(self: Any, config: TransformerConfig) -> None:
    Transformer.__init__(self, replace(config, target_vocab=config.source_vocab))


def _source_words_scored(self: Any, config: TransformerConfig) -> None:
    Transformer.__init__(self, config)
    self.final_layer = nn.Linear(config.d_model, config.source_vocab)


def _detached(self: Any, source: Tensor, target: Tensor, mask: Any, future: Any):
    return self.decode(target, self.encode(source, mask).detach(), future, mask)


MODEL_MISTAKES = (
    mistake(
        "options left out",
        "Encoder and decoder did not get everything that config holds: length, dropout "
        "or norm order, or several of them, are left at their defaults.",
        "Compare what you pass to `Encoder` with `config.stack`, which was printed.",
        *tuple(_left_out()),
    ),
    mistake(
        "final layer without a bias",
        "The model computes the right thing, but its final layer has no bias.",
        "What does the docstring of the class say about this layer?",
        swap(bias="missing"),
    ),
    mistake(
        "source mask not passed to the decoder",
        "`forward` gave the source's mask to the encoder alone, so the decoder reads "
        "padding.",
        "Which parts read the source's tokens? Count them.",
        _calling(lambda self, s, t, m, f: self.decode(t, self.encode(s, m), f)),
    ),
    mistake(
        "source mask ignored in decode",
        "`decode` does not pass the source's mask on, so the decoder reads padding.",
        "Follow `source_mask` through `decode`.",
        swap(decode=_decode_unmasked),
    ),
    mistake(
        "source mask not passed to the encoder",
        "The encoder runs without a mask, so its words attend to padding.",
        "Follow `source_mask` through `forward` and `encode`.",
        swap(encode=_encode_unmasked),
        _calling(lambda self, s, t, m, f: self.decode(t, self.encode(s), f, m)),
    ),
    mistake(
        "source mask not used",
        "`forward` uses the source's mask nowhere, so encoder and decoder read "
        "padding.",
        "Which parts read the source's tokens? Count them.",
        _calling(lambda self, s, t, m, f: self.decode(t, self.encode(s), f)),
        swap(encode=_encode_unmasked, decode=_decode_unmasked),
        swap(
            encode=_encode_unmasked,
            forward=lambda self, s, t, m, f: self.decode(t, self.encode(s), f),
        ),
        swap(
            decode=_decode_unmasked,
            forward=lambda self, s, t, m, f: self.decode(t, self.encode(s), f),
        ),
    ),
    mistake(
        "masks exchanged in decode",
        "`decode` gave the two masks to the decoder in the wrong order.",
        "Compare the order of the arguments of `decode` with the decoder's own.",
        _decoding(
            lambda self, t, memory, f, m: self.final_layer(
                self.decoder(t, memory, m, f)
            )
        ),
    ),
    mistake(
        "target mask not passed",
        "The decoder runs without the target's mask: it sees the words that it should "
        "predict.",
        "Follow `target_mask` through `forward` and `decode`.",
        _decoding(
            lambda self, t, memory, f, m: self.final_layer(
                self.decoder(t, memory, None, m)
            )
        ),
        _calling(lambda self, s, t, m, f: self.decode(t, self.encode(s, m), None, m)),
    ),
    mistake(
        "masks exchanged",
        "`forward` gave the two masks to `decode` in the wrong order.",
        "Compare the order of the arguments of `forward` with those of `decode`.",
        _calling(lambda self, s, t, m, f: self.decode(t, self.encode(s, m), m, f)),
    ),
    mistake(
        "target mask on the encoder",
        "The encoder got the target's mask; it reads the source, all of it at once.",
        "Which mask belongs to which side?",
        _calling(lambda self, s, t, m, f: self.decode(t, self.encode(s, f), f, m)),
    ),
    mistake(
        "no last layer",
        "The result has the width of the model: it holds vectors, and no scores for "
        "the words.",
        "Which of the three parts is never used?",
        _decoding(lambda self, t, memory, f, m: self.decoder(t, memory, f, m)),
    ),
    mistake(
        "last layer in forward only",
        "`forward` returns scores, but `decode` alone returns vectors.",
        "What does the docstring of `decode` promise?",
        swap(
            decode=lambda self, t, memory, f, m=None: self.decoder(t, memory, f, m),
            forward=lambda self, s, t, m, f: self.final_layer(
                self.decode(t, self.encode(s, m), f, m)
            ),
        ),
    ),
    mistake(
        "last layer twice",
        "The scores went through the last layer again.",
        "Which of your methods applies `final_layer`, and who calls that method?",
        _calling(
            lambda self, *inputs: self.final_layer(Transformer.forward(self, *inputs))
        ),
    ),
    mistake(
        "softmax on the scores",
        "A softmax, or its logarithm, was taken, but raw scores are asked for.",
        "What does the docstring call the result?",
        _finishing(lambda logits: logits.softmax(-1)),
        _finishing(lambda logits: logits.log_softmax(-1)),
        _ending(lambda logits: logits.softmax(-1)),
        _ending(lambda logits: logits.log_softmax(-1)),
    ),
    mistake(
        "words instead of scores",
        "The result holds the best word at each place, not a score for every word.",
        "What does the docstring call the result? Could a loss learn from one word?",
        _finishing(lambda logits: logits.argmax(-1)),
        _ending(lambda logits: logits.argmax(-1)),
    ),
    mistake(
        "only the last place",
        "Scores came back for the last place only; training needs them at every place.",
        "What shape does the docstring of `decode` promise?",
        _finishing(lambda logits: logits[:, -1]),
        _ending(lambda logits: logits[:, -1]),
    ),
    mistake(
        "decoder reads the source",
        "The decoder got the source's words, not those of the target.",
        "What goes in at the bottom of the right half of the figure?",
        _calling(lambda self, s, t, m, f: self.decode(s, self.encode(s, m), f, m)),
    ),
    mistake(
        "encoder reads the target",
        "The encoder got the target's words, not those of the source.",
        "What goes in at the bottom of the left half of the figure?",
        _calling(lambda self, s, t, m, f: self.decode(t, self.encode(t, m), f, m)),
    ),
    mistake(
        "vocabularies exchanged",
        "The encoder got the target's vocabulary and the decoder the source's.",
        "Which half of the figure reads which language?",
        swap(__init__=_other_vocabularies),
    ),
    mistake(
        "decoder with the source's vocabulary",
        "The decoder was built for the words of the source, but it reads those of the "
        "target.",
        "Which half of the figure reads which language?",
        swap(__init__=_decoder_for_source),
    ),
    mistake(
        "encoder with the target's vocabulary",
        "The encoder was built for the words of the target, but it reads those of the "
        "source: `source_vocab` has no effect.",
        "Which half of the figure reads which language?",
        swap(__init__=_encoder_for_target),
    ),
    mistake(
        "target_vocab unused",
        "Decoder and last layer were built for the words of the source: `target_vocab` "
        "has no effect.",
        "Which parts of the figure deal with words of the target?",
        swap(__init__=_source_everywhere),
    ),
    mistake(
        "encode returns nothing",
        "`encode` returned None, and the decoder needs what the encoder found.",
        "Does each of your methods end with a `return`?",
        swap(encode=lambda self, source, source_mask=None: None),
    ),
    mistake(
        "source words scored",
        "The last layer has a score for every word of the source.",
        "In which language does the model write?",
        swap(__init__=_source_words_scored),
    ),
    mistake(
        "encoder cut off",
        "The result is right, but no gradient reaches the encoder: it would never "
        "learn.",
        "Look for `detach` or `no_grad` around the encoder.",
        _calling(_detached),
    ),
)

# --- 5.H ---


def count_parameters(config: TransformerConfig) -> int:
    """The course's own answer to 5.H."""
    return _count(config)


def _count(
    config: TransformerConfig,
    *,
    bias: int = 1,
    norm: int = 2,
    attentions: int = 2,
    norms: int = 3,
    last_bias: int = 1,
    last: int = 1,
    tables: Callable = lambda source, target: source + target,
    scored: Callable = lambda source, target: target,
    positions: int = 0,
    norms_on_top: int = 0,
    heads: bool = False,
    stacks: bool = True,
    attention_layers: int = 4,
    attention_bias: int = 1,
) -> int:
    """The sum; each option is a term that can be forgotten or counted twice."""
    d, f = config.d_model, config.d_ff
    attention = attention_layers * (d * d + bias * attention_bias * d)
    if heads:
        attention *= config.num_heads
    feed_forward = 2 * d * f + bias * (d + f)
    reader = attention + feed_forward + 2 * norm * d
    writer = attentions * attention + feed_forward + norms * norm * d
    layers = (config.num_layers if stacks else 1) * (reader + writer)
    vocabularies = (config.source_vocab, config.target_vocab)
    rows = tables(*vocabularies) + positions * config.max_length
    scores = last * scored(*vocabularies) * (d + last_bias)
    return layers + (rows + norms_on_top * norm) * d + scores


def _counting(call: Callable, config: TransformerConfig) -> Look:
    """The number, and whether modules with parameters were created on the way."""
    built = []
    hook = register_module_parameter_registration_hook(
        lambda module, name, value: built.append(name)
    )
    try:
        number = call(config)
    finally:
        hook.remove()
    way = "by building modules" if built else "from the numbers in config"
    return Look({"parameters": number, "counted": way})


def _count_cases(seed: int) -> list[Case]:
    configs = [
        TransformerConfig(500, 700, 64, 8, 256, 3),
        TransformerConfig(17, 13, 6, 3, 11, 2, 9),
        TransformerConfig(17, 13, 6, 2, 11, 2, 9),  # the same with other heads
        TransformerConfig(100, 200, 20, 4, 70, 1, 31),
    ]
    if seed:  # more than in the notebook
        draw = random.Random(seed)
        sizes = (draw.randint(*some) for some in ((5, 90), (5, 90), (3, 9), (2, 5)))
        source, target, width, heads = sizes
        rest = draw.randint(7, 60), draw.randint(2, 5), draw.randint(8, 40)
        configs.append(TransformerConfig(source, target, width * heads, heads, *rest))
    return [
        Case(
            f"vocabularies {one.source_vocab} and {one.target_vocab}, d_model "
            f"{one.d_model}, {one.num_heads} heads, d_ff {one.d_ff}, num_layers "
            f"{one.num_layers}",
            (one,),
            inputs=("config",),
            look=_counting,
        )
        for one in configs
    ]


def _by_building(config: TransformerConfig) -> int:
    model = transformer.Transformer(config)
    return sum(value.numel() for value in model.parameters())


def _by_building_linears(config: TransformerConfig) -> int:
    """Counts as asked, but for one layer that is built to see its size."""
    last = nn.Linear(config.d_model, config.target_vocab)
    return _count(config, last=0) + sum(value.numel() for value in last.parameters())


swap_term = exchanging(_count)
COUNT_MISTAKES = (
    mistake(
        "built, not counted",
        "The numbers are right, but layers were built to find them; they are to be "
        "counted from the numbers in config alone.",
        "How many numbers does `nn.Linear(3, 5)` hold? Work it out on paper, and let "
        "your function do the same.",
        _by_building,
        _by_building_linears,
    ),
    mistake(
        "no biases",
        "The matrices were counted, but linear layers also have a bias.",
        "How many numbers does `nn.Linear(3, 5)` hold?",
        swap_term(bias=0, last_bias=0),
        swap_term(bias=0),
    ),
    mistake(
        "no biases in the attentions",
        "The biases of the feed-forward and of the last layer were counted, but not "
        "those of the attentions, whose four linear layers have one each.",
        "How many numbers does `nn.Linear(3, 5)` hold?",
        swap_term(attention_bias=0),
    ),
    mistake(
        "no biases, in the norms neither",
        "All biases were left out, those of the linear layers and those of the norms.",
        "How many numbers do `nn.Linear(3, 5)` and `nn.LayerNorm(5)` hold?",
        swap_term(bias=0, last_bias=0, norm=1),
        swap_term(bias=0, norm=1),
    ),
    mistake(
        "half a norm",
        "A layer norm was counted with one number per feature; it has a gain and a "
        "bias.",
        "How many numbers does `nn.LayerNorm(5)` hold?",
        swap_term(norm=1),
    ),
    mistake(
        "no norms",
        "The layer norms were left out; each has a gain and a bias.",
        "How many numbers does `nn.LayerNorm(5)` hold?",
        swap_term(norm=0),
    ),
    mistake(
        "norms on top",
        "One or both stacks got a further norm at the end, but post-norm layers end "
        "with a norm of their own.",
        "What does the task say about the end of the stacks?",
        swap_term(norms_on_top=1),
        swap_term(norms_on_top=2),
    ),
    mistake(
        "decoder layer counted like an encoder layer",
        "The decoder's layers were counted like the encoder's, but a decoder layer has "
        "a second attention and a third norm.",
        "Compare your two layers with the figure, box by box.",
        swap_term(attentions=1, norms=2),
    ),
    mistake(
        "second attention missing",
        "All three norms of a decoder layer were counted, but only one attention.",
        "Compare your two layers with the figure, box by box.",
        swap_term(attentions=1),
    ),
    mistake(
        "third norm missing",
        "Both attentions of a decoder layer were counted, but only two norms.",
        "How many `Add & Norm` boxes does a decoder layer have?",
        swap_term(norms=2),
    ),
    mistake(
        "attention counted per head",
        "The matrices of the attention were counted once per head, but all heads "
        "together have one of each.",
        "What did exercise 3.A do with W_q: copy it, or cut its result?",
        swap_term(heads=True),
    ),
    mistake(
        "W_o forgotten",
        "Three matrices were counted in each attention; the heads' results go through "
        "a fourth.",
        "Name the linear layers of `MultiHeadAttention`.",
        swap_term(attention_layers=3),
    ),
    mistake(
        "positions counted",
        "A table of positions was counted; it is computed from sines, not learned.",
        "Which tables does training change?",
        swap_term(positions=1),
        swap_term(positions=2),
    ),
    mistake(
        "one embedding",
        "Only one of the two embeddings was counted; each language has its own.",
        "How many tables turn ids into vectors?",
        swap_term(tables=lambda source, target: target),
        swap_term(tables=lambda source, target: source),
    ),
    mistake(
        "embeddings of one size",
        "Both embeddings were counted with the same vocabulary.",
        "How many rows does each of the two tables have?",
        swap_term(tables=lambda source, target: 2 * target),
        swap_term(tables=lambda source, target: 2 * source),
    ),
    mistake(
        "no last layer",
        "The layer that scores the words is missing.",
        "Which box of the figure comes after the decoder?",
        swap_term(last=0),
    ),
    mistake(
        "bias of the last layer",
        "The last layer was counted without its bias.",
        "How many numbers does `nn.Linear(3, 5)` hold?",
        swap_term(last_bias=0),
    ),
    mistake(
        "source words scored",
        "The last layer was counted with the vocabulary of the source.",
        "In which language does the model write?",
        swap_term(scored=lambda source, target: source),
    ),
    mistake(
        "one layer each",
        "One encoder layer and one decoder layer were counted, not num_layers of each.",
        "Where does your sum use `num_layers`?",
        swap_term(stacks=False),
    ),
)

EXERCISES = (
    Exercise(
        "5.C",
        "The Transformer",
        "class",
        difficulty=3,
        points=4,
        core=True,
        answers=(
            Answer(
                "Transformer",
                Transformer,
                {"logits": "batch, target length, target vocabulary"},
                parts=("encoder", "decoder", "final_layer"),
                stand_in=transformer.Transformer,
            ),
        ),
        cases=_model_cases,
        proves="encode, decode and both together, where each mask goes, two "
        "vocabularies, all options, a gradient in every part",
        misconceptions=MODEL_MISTAKES,
    ),
    Exercise(
        "5.H",
        "How many parameters?",
        "function",
        difficulty=2,
        points=2,
        answers=(Answer("count_parameters", count_parameters, {"parameters": ""}),),
        cases=_count_cases,
        proves="every matrix, bias, gain and table, for four sizes, counted and not "
        "built",
        misconceptions=COUNT_MISTAKES,
    ),
)
