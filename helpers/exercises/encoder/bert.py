"""4.F: BERT's positions, its weights in the student's encoder, and both together."""

import copy
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.encoder.shared import ids_from, lacking, normalise
from helpers.exercises.encoder.stack import Encoder
from helpers.exercises.kit import exchanging, normal, padded, shake
from helpers.models.encoder import BertPositions as CoursePositions
from helpers.models.encoder import EncoderLayer

# --- 4.F ---


class BertPositions(nn.Module):
    """The course's own answer to 4.F; misconceptions replace one of its steps."""

    biases = "there"  # said here: the reference's norm may be a student's

    def __init__(self, d_model: int, max_length: int, eps: float = 1e-12) -> None:
        """Create two tables and a norm."""
        super().__init__()
        self.position = nn.Embedding(max_length, d_model)
        self.token_type = nn.Embedding(2, d_model)
        self.norm = nn.LayerNorm(d_model, eps)
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        return self.finish(x + self.where(x) + self.kind())

    def where(self, x: Tensor) -> Tensor:
        """The rows of the positions."""
        return self.position.weight.narrow(0, 0, x.shape[1])

    def kind(self) -> Tensor:
        """The row of the first sentence."""
        return self.token_type.weight[0]

    def finish(self, x: Tensor) -> Tensor:
        """The norm."""
        return normalise(self.norm, x, self.eps)


def _positions_look(call: Any, x: Tensor) -> Look:
    shake(getattr(call, "norm", None))
    ours = isinstance(call, BertPositions)
    biases = call.biases if ours else lacking(norm=(getattr(call, "norm", None),))
    return Look({"output": call.eval()(x), "biases": biases})


def _positions_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str, size: tuple, *init: Any, dtype: Any = None, **more: Any
    ) -> Case:
        x, rest = normal(draw, *size, dtype=dtype or torch.float64), (size[2], *init)
        return Case(name, (x,), inputs=("x",), init=rest, look=_positions_look, **more)

    return [
        case("a batch", (2, 5, 7), 11),
        case("as long as the table", (3, 8, 5), 8),
        case("a large eps", (2, 4, 6), 9, 0.3),
        case("batch equal to length", (4, 4, 6), 9),
        case("float32", (2, 6, 5), 7, dtype=torch.float32),
        case("the gradient", (2, 3, 5), 4, gradient=True),
    ]


swap_in_positions = exchanging(BertPositions)


def _looking_up(index: Any) -> Any:
    """A `forward` that looks up the token type by this index."""

    def forward(self: BertPositions, x: Tensor) -> Tensor:
        return self.finish(x + self.where(x) + self.token_type(index(x)))

    return forward


POSITION_MISTAKES = (
    mistake(
        "norm without a bias",
        "The result is right, but the norm was built without a bias: BERT's has one.",
        "Which arguments does your norm get in `__init__`?",
        swap_in_positions(biases="missing in norm"),
    ),
    mistake(
        "norm missing",
        "The sum was returned as it is.",
        "What comes after the three summands in the task?",
        swap_in_positions(finish=lambda self, x: x),
    ),
    mistake(
        "norm before the sum",
        "First x was normalised, and then positions and token types were added.",
        "What goes into the norm: one of the three, or their sum?",
        swap_in_positions(
            forward=lambda self, x: self.finish(x) + self.where(x) + self.kind()
        ),
    ),
    mistake(
        "token type forgotten",
        "Words and positions were added; the token type was not.",
        "A row that is the same for every token still moves them all.",
        swap_in_positions(kind=lambda self: 0.0),
    ),
    mistake(
        "second sentence",
        "Row 1 of the token types was added, but that row marks the second sentence.",
        "Rows are counted from 0.",
        swap_in_positions(kind=lambda self: self.token_type.weight[1]),
    ),
    mistake(
        "both token types",
        "Both rows of the token types were added.",
        "To how many sentences does a token belong?",
        swap_in_positions(kind=lambda self: self.token_type.weight.sum(0)),
    ),
    mistake(
        "positions forgotten",
        "The positions were not added.",
        "Which of the two tables does your `forward` not use?",
        swap_in_positions(where=lambda self, x: 0.0),
    ),
    mistake(
        "one position for all",
        "Every token got the row of position 0.",
        "Position 0 belongs to the first token. Which rows do the others need?",
        swap_in_positions(where=lambda self, x: self.position.weight[0]),
    ),
    mistake(
        "counted from 1",
        "The first token got the row of position 1.",
        "Rows are counted from 0.",
        swap_in_positions(
            where=lambda self, x: self.position(torch.arange(1, x.shape[1] + 1))
        ),
        swap_in_positions(
            where=lambda self, x: self.position.weight[1 : x.shape[1] + 1]
        ),
    ),
    mistake(
        "positions along the batch",
        "All tokens of sentence i got the row of position i.",
        "Which axis of (batch, length, d_model) counts the tokens?",
        swap_in_positions(
            where=lambda self, x: self.position.weight[: x.shape[0]][:, None]
        ),
    ),
    mistake(
        "eps not passed on",
        "The norm does not use the epsilon that was asked for.",
        "Follow `eps` from the arguments of `__init__` to the norm.",
        swap_in_positions(finish=lambda self, x: normalise(self.norm, x, 1e-5)),
        swap_in_positions(finish=lambda self, x: normalise(self.norm, x, 1e-12)),
    ),
    mistake(
        "as many positions as sentences",
        "The table was cut to as many rows as there are sentences in the batch.",
        "Which axis of (batch, length, d_model) counts the tokens?",
        swap_in_positions(where=lambda self, x: self.position.weight[: x.shape[0]]),
        swap_in_positions(
            where=lambda self, x: self.position(torch.arange(x.shape[0]))
        ),
    ),
    mistake(
        "whole table of token types",
        "The table of token types was added as it is, with both of its rows.",
        "To how many sentences does a token belong?",
        swap_in_positions(kind=lambda self: self.token_type.weight),
    ),
    mistake(
        "a module indexed like a tensor",
        "An `nn.Embedding` was indexed with brackets, but it is a module, not a "
        "tensor.",
        "Where does an `nn.Embedding` keep its rows?",
        swap_in_positions(where=lambda self, x: self.position[: x.shape[1]]),
        swap_in_positions(kind=lambda self: self.token_type[0]),
    ),
    mistake(
        "floats in place of whole numbers",
        "An `nn.Embedding` was called with floats, but it looks up rows by whole "
        "numbers.",
        "Which dtype do `torch.zeros` and `torch.ones` have if nobody says which? And "
        "which one has x?",
        *(
            swap_in_positions(forward=_looking_up(index))
            for index in (
                lambda x: torch.zeros(x.shape[:2]),
                lambda x: torch.zeros(x.shape[1]),
                lambda x: torch.zeros(1),
                lambda x: torch.tensor(0.0),
                torch.zeros_like,
            )
        ),
        swap_in_positions(where=lambda self, x: self.position(x)),
        swap_in_positions(
            where=lambda self, x: self.position(torch.arange(float(x.shape[1])))
        ),
        swap_in_positions(
            where=lambda self, x: self.position(torch.arange(x.shape[1]).to(x))
        ),
    ),
    mistake(
        "a number that is not in a tensor",
        "An `nn.Embedding` was called with a plain number, but it takes a tensor of "
        "whole numbers.",
        "Is there a way to a row of its `weight` without a call?",
        swap_in_positions(kind=lambda self: self.token_type(0)),
        swap_in_positions(where=lambda self, x: self.position(x.shape[1])),
    ),
    mistake(
        "rows picked by floats",
        "Rows of a table were picked with floats, but an index is a whole number.",
        "Which dtype has the index? Print it.",
        swap_in_positions(
            where=lambda self, x: self.position.weight[torch.arange(float(x.shape[1]))]
        ),
        swap_in_positions(kind=lambda self: self.token_type.weight[torch.zeros(1)]),
    ),
)


# --- 4.G ---


def pairs(
    mine: nn.Module, theirs: nn.Module, layers: int | None = None
) -> Iterator[tuple[str, nn.Module, Any]]:
    """Every part of the encoder with the part of BERT whose weights it takes.

    Args:
        mine: the encoder
        theirs: BERT
        layers: how many of the layers; by default all
    """
    yield "position", mine.positions.position, theirs.embeddings.position_embeddings
    yield "type", mine.positions.token_type, theirs.embeddings.token_type_embeddings
    yield "start norm", mine.positions.norm, theirs.embeddings.LayerNorm
    both = zip(mine.layers, theirs.encoder.layer, strict=True)
    for ours, layer in islice(both, layers):
        yield "norm1", ours.norm1, layer.attention.output.LayerNorm
        yield "norm2", ours.norm2, layer.output.LayerNorm
        yield "W_1", ours.feed_forward.W_1, layer.intermediate.dense
        yield "W_2", ours.feed_forward.W_2, layer.output.dense


@torch.no_grad()
def load_bert(
    encoder: nn.Module,
    bert: nn.Module,
    *,
    power: float = -0.5,
    skip: tuple[str, ...] = (),
    exchange: tuple[int, int] = (0, 0),
    exchange_norms: bool = False,
    repeat: bool = False,
    kinds: tuple[str, ...] = ("weight", "bias"),
    layers: int | None = None,
) -> nn.Module:
    """The course's own answer to 4.G; the keywords are for the misconceptions."""
    if "words" not in skip:
        table = bert.embeddings.word_embeddings.weight
        encoder.embedding.weight.copy_(table * table.shape[1] ** power)
    for name, mine, theirs in pairs(encoder, bert, layers):
        for kind in kinds:
            value = getattr(theirs, kind, None)
            if name not in skip and value is not None:
                getattr(mine, kind).copy_(value)
    for number, layer in enumerate(encoder.layers[:layers]):
        _load_attention(
            layer.attention, bert.encoder.layer[number].attention, skip, exchange
        )
        if exchange_norms:
            layer.norm1, layer.norm2 = layer.norm2, layer.norm1
    if repeat:
        for layer in encoder.layers[1:]:
            layer.load_state_dict(encoder.layers[0].state_dict())
    return encoder


def _load_attention(
    mine: Any, theirs: Any, skip: tuple, exchange: tuple[int, int]
) -> None:
    if "attention" in skip:
        return
    three = [theirs.self.query, theirs.self.key, theirs.self.value]
    one, other = exchange
    three[one], three[other] = three[other], three[one]
    out = mine.W_o if "W_o" in skip else theirs.output.dense
    mine.copy_layers(*three, copy.deepcopy(out))


def tiny_bert(
    draw: torch.Generator, layers: int = 2, heads: int = 3, scale: float = 0.5
) -> nn.Module:
    """A random BERT of `transformers` with odd sizes, in float64.

    Args:
        draw: where its weights come from
        layers: how many
        heads: of each layer, of width 5
        scale: standard deviation of all weights, biases and gains
    """
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=17,
        hidden_size=5 * heads,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=11,
        max_position_embeddings=9,
        layer_norm_eps=1e-12,
    )
    with torch.random.fork_rng(devices=[]):  # leave the student's seed alone
        model = BertModel(config, add_pooling_layer=False).double().eval()
    with torch.no_grad():
        for value in model.parameters():
            value.copy_(scale * normal(draw, *value.shape))
    return model


class Parts(nn.Module):
    """The parts of an encoder, without the code that makes one of them.

    Else the answer to 4.E could be kept from here.
    """

    def __init__(self, sizes: Any) -> None:
        """Create parts with a BERT's sizes, and random weights of their own."""
        super().__init__()
        width, eps = sizes.hidden_size, sizes.layer_norm_eps
        layer = (width, sizes.num_attention_heads, sizes.intermediate_size)
        options = (0.1, "gelu", False, eps)
        self.d_model = width
        self.embedding = nn.Embedding(sizes.vocab_size, width)
        self.positions = CoursePositions(width, sizes.max_position_embeddings, eps)
        self.layers = nn.ModuleList(
            EncoderLayer(*layer, *options) for _ in range(sizes.num_hidden_layers)
        )
        self.norm = nn.Identity()
        self.double()
        draw = torch.Generator().manual_seed(9)
        with torch.no_grad():
            for value in self.parameters():
                value.copy_(0.5 * normal(draw, *value.shape))

    def forward(self, *_: Any) -> Tensor:
        """Refuse: these weights are read when the answer has returned."""
        raise RuntimeError(
            "This encoder only holds weights: fill it and return it, the check then "
            "reads with it."
        )

    def put_together(self, sizes: Any) -> nn.Module:
        """The reference encoder with these parts."""
        encoder = shaped(sizes)
        encoder.embedding, encoder.layers = self.embedding, self.layers
        for name, part in self.positions.named_children():
            setattr(encoder.positions, name, part)
        return encoder


def _empty(bert: nn.Module) -> nn.Module:
    """The parts of an encoder with BERT's sizes."""
    with torch.random.fork_rng(devices=[]):  # leave the student's seed alone
        return Parts(bert.config)


def shaped(sizes: Any, *options: Any, heads: int | None = None) -> nn.Module:
    """The reference encoder with a BERT's sizes and, by default, its options."""
    options = options or (0.1, "gelu", False, sizes.layer_norm_eps)
    encoder = Encoder(*_sizes(sizes, heads), *options)
    encoder.positions = BertPositions(
        sizes.hidden_size, sizes.max_position_embeddings, sizes.layer_norm_eps
    )
    return encoder


def _sizes(sizes: Any, heads: int | None = None) -> tuple[int, ...]:
    """What the encoder takes before its options."""
    return (
        sizes.vocab_size,
        sizes.hidden_size,
        heads or sizes.num_attention_heads,
        sizes.intermediate_size,
        sizes.num_hidden_layers,
        sizes.max_position_embeddings,
    )


def _own(encoder: Any, bert: nn.Module) -> str:
    """Whether an encoder does without the tensors of BERT, in words."""
    if not isinstance(encoder, nn.Module):
        return "its own"
    memory = {value.data_ptr() for value in bert.parameters()}
    shared = any(value.data_ptr() in memory for value in encoder.parameters())
    return "shared with BERT" if shared else "its own"


def _read(encoder: Any, ids: Tensor, mask: Tensor) -> dict[str, Any]:
    """The vectors at real positions; anything but an encoder is shown as it is."""
    if not isinstance(encoder, nn.Module):
        return {"result": encoder}
    with torch.no_grad():
        hidden = encoder.eval()(ids, mask)
    return {"vectors at real tokens": hidden[mask[:, 0, 0]]}


def _load_look(call: Any, encoder: Any, bert: Any, ids: Tensor, mask: Tensor) -> Look:
    before = [value.clone() for value in bert.parameters()]
    came = call(encoder, bert)
    tensors = _own(came, bert)
    if came is encoder:
        came = encoder.put_together(bert.config)
    seen = _read(came, ids, mask) | {"tensors of the encoder": tensors}
    same = all(map(torch.equal, before, bert.parameters()))
    return Look({**seen, "bert": "unchanged" if same else "changed"})


def _load_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    cases = []
    for layers, heads, counts in ((2, 3, (6, 4)), (3, 2, (5, 2, 3))):
        bert = tiny_bert(draw, layers, heads)
        length = max(counts)
        ids = ids_from(draw, 17, len(counts), length)
        args = (_empty(bert), bert, ids, padded(*counts, length=length))
        names = ("encoder", "bert")
        name = f"a random BERT with {layers} layers"
        cases.append(Case(name, args, inputs=names, look=_load_look))
    return cases


swap_in_loading = exchanging(load_bert)


@torch.no_grad()
def _load_divided_in_place(encoder: nn.Module, bert: nn.Module) -> nn.Module:
    table = bert.embeddings.word_embeddings.weight
    table /= table.shape[1] ** 0.5
    return load_bert(encoder, bert, power=0.0)


def _load_by_assignment(encoder: nn.Module, bert: nn.Module) -> nn.Module:
    load_bert(encoder, bert)
    for ours, theirs in zip(encoder.layers, bert.encoder.layer, strict=True):
        ours.norm1 = theirs.attention.output.LayerNorm
        ours.norm2 = theirs.output.LayerNorm
    return encoder


def _load_parameters_over(encoder: nn.Module, bert: nn.Module) -> nn.Module:
    load_bert(encoder, bert)
    for _, mine, theirs in pairs(encoder, bert):
        mine.weight = theirs.weight
    return encoder


def _load_data_over(encoder: nn.Module, bert: nn.Module) -> nn.Module:
    load_bert(encoder, bert)
    for ours, theirs in zip(encoder.layers, bert.encoder.layer, strict=True):
        ours.feed_forward.W_1.weight.data = theirs.intermediate.dense.weight.data
    return encoder


LOAD_MISTAKES = (
    mistake(
        "nothing loaded",
        "Your encoder came back as it was, with all its initial weights.",
        "Which of your lines changes a tensor of `encoder`, and does it run?",
        lambda encoder, bert: encoder,
    ),
    mistake(
        "words not divided",
        "The word vectors were copied as they are, but your encoder multiplies them by "
        "the root of d_model.",
        "What must the table hold for the product to be BERT's vector?",
        swap_in_loading(power=0.0),
    ),
    mistake(
        "words multiplied",
        "The word vectors were multiplied by the root of d_model, and your encoder "
        "does that once more.",
        "What must the table hold for the product to be BERT's vector?",
        swap_in_loading(power=0.5),
    ),
    mistake(
        "words divided by d_model",
        "The word vectors were divided by d_model itself.",
        "What does your encoder multiply them by?",
        swap_in_loading(power=-1.0),
    ),
    mistake(
        "words not loaded",
        "The word table still holds its initial weights.",
        "Go through BERT's embeddings: how many tables are there?",
        swap_in_loading(skip=("words",)),
    ),
    mistake(
        "positions not loaded",
        "The position table still holds its initial weights.",
        "Go through BERT's embeddings: how many tables are there?",
        swap_in_loading(skip=("position",)),
    ),
    mistake(
        "token types not loaded",
        "The token-type table still holds its initial weights.",
        "Go through BERT's embeddings: how many tables are there?",
        swap_in_loading(skip=("type",)),
    ),
    mistake(
        "first norm not loaded",
        "The norm after the embeddings still holds its initial weights.",
        "How many norms does BERT have besides the two in each layer?",
        swap_in_loading(skip=("start norm",)),
    ),
    mistake(
        "embeddings not loaded",
        "The layers are loaded; words, positions, token types and their norm are not.",
        "What does BERT keep under `embeddings`?",
        swap_in_loading(skip=("words", "position", "type", "start norm")),
    ),
    mistake(
        "query and key swapped",
        "The query's weights went to the key, and the key's to the query.",
        "Compare the order of your arguments with the one that `copy_layers` expects.",
        swap_in_loading(exchange=(0, 1)),
    ),
    mistake(
        "key and value swapped",
        "The key's weights went to the value, and the value's to the key.",
        "Compare the order of your arguments with the one that `copy_layers` expects.",
        swap_in_loading(exchange=(1, 2)),
    ),
    mistake(
        "query and value swapped",
        "The query's weights went to the value, and the value's to the query.",
        "Compare the order of your arguments with the one that `copy_layers` expects.",
        swap_in_loading(exchange=(0, 2)),
    ),
    mistake(
        "only the first layer",
        "The first layer was loaded; the others still hold their initial weights.",
        "Does the loop end too early? Look at the indentation of `return`.",
        swap_in_loading(layers=1),
    ),
    mistake(
        "layers not loaded",
        "The embeddings were loaded; all layers still hold their initial weights.",
        "What does BERT keep under `encoder.layer`?",
        swap_in_loading(layers=0),
    ),
    mistake(
        "attention not loaded",
        "The attention still holds its initial weights.",
        "Go through one layer of BERT: which of its parts have you copied?",
        swap_in_loading(skip=("attention",)),
    ),
    mistake(
        "output projection not loaded",
        "W_o still holds its initial weights.",
        "`attention.output.dense` comes after the heads are merged. Which part is it?",
        swap_in_loading(skip=("W_o",)),
    ),
    mistake(
        "norms swapped",
        "The norm after the attention went to norm2, and the other one to norm1.",
        "Which LayerNorm is under `attention` in BERT's layer?",
        swap_in_loading(exchange_norms=True),
    ),
    mistake(
        "norms not loaded",
        "One or both norms of each layer still hold their initial weights.",
        "Go through one layer of BERT: which of its parts have you copied?",
        *tuple(
            swap_in_loading(skip=s)
            for s in (("norm1",), ("norm2",), ("norm1", "norm2"))
        ),
    ),
    mistake(
        "feed-forward not loaded",
        "Each feed-forward network, or half of it, still holds its initial weights.",
        "Go through one layer of BERT: which of its parts have you copied?",
        *tuple(swap_in_loading(skip=s) for s in (("W_1",), ("W_2",), ("W_1", "W_2"))),
    ),
    mistake(
        "first layer everywhere",
        "Every layer got the weights of BERT's layer 0.",
        "Does your loop move through both lists of layers?",
        swap_in_loading(repeat=True),
    ),
    mistake(
        "biases not loaded",
        "The weights were copied, but the biases of the norms and the feed-forward "
        "networks were not.",
        "There is more to a part's state than its weight.",
        swap_in_loading(kinds=("weight",)),
    ),
    mistake(
        "BERT changed",
        "The right numbers arrived, but BERT's own table was changed on the way.",
        "Look for `/=`, `div_` and `mul_`: whose tensor do they change?",
        lambda encoder, bert: _load_divided_in_place(encoder, bert),
    ),
    mistake(
        "nothing returned",
        "The function returned nothing.",
        "Read the last line of the docstring again.",
        lambda encoder, bert: load_bert(encoder, bert) and None,
    ),
    mistake(
        "BERT's own tensors",
        "The numbers are right, but your encoder holds tensors or modules of BERT: "
        "train yours, and BERT changes as well.",
        "Where do you assign a layer or its weight? `copy_part` and `copy_` copy the "
        "numbers instead.",
        _load_by_assignment,
        _load_parameters_over,
        _load_data_over,
    ),
)


# --- 4.H ---

SMALL = 100_000  # parameters of a BERT that is emptied, and read with once more
SENTENCES = (
    "The cat slept on the warm stove.",
    "Where did you leave the keys to the garden shed?",
    "No.",
)


def my_bert(
    bert: nn.Module,
    *,
    options: tuple = (),
    heads: int | None = None,
    training: bool = False,
) -> nn.Module:
    """The course's own answer to 4.H; the keywords are for the misconceptions."""
    if heads and bert.config.hidden_size % heads:
        heads = None  # so many heads do not fit into this BERT
    encoder = load_bert(shaped(bert.config, *options, heads=heads), bert)
    return encoder.train(training)


@cache
def _bundled() -> tuple[nn.Module, Tensor, Tensor]:
    from helpers.pretrained import load_encoder, load_tokenizer

    batch = load_tokenizer()(list(SENTENCES), padding=True, return_tensors="pt")
    return load_encoder(), batch["input_ids"], batch["attention_mask"].bool()


def _my_look(call: Any, bert: nn.Module, ids: Tensor, mask: Tensor) -> Look:
    """Build in BERT's own precision, then read a padded batch."""
    torch.set_default_dtype(next(bert.parameters()).dtype)
    mine = call(bert)
    training = getattr(mine, "training", False)
    seen = _read(mine, ids, mask) | {"mode": "training" if training else "eval"}
    return Look({**seen, "computed by": _computed_by(mine, bert, ids, mask)})


def _computed_by(mine: Any, bert: nn.Module, ids: Tensor, mask: Tensor) -> str:
    """Whether the library's model, or a part of it, is in what came back.

    Found by the classes inside it; by tensors that are BERT's; and, in a small BERT, by
    emptying BERT, which changes what a function does that only refers to it.
    """
    if not isinstance(mine, nn.Module):
        return "an encoder"
    classes = {type(part).__module__.split(".")[0] for part in mine.modules()}
    if "transformers" in classes or _own(mine, bert) != "its own":
        return "the library"
    if sum(value.numel() for value in bert.parameters()) > SMALL:
        return "an encoder"
    [before] = _read(mine, ids, mask).values()
    with torch.no_grad():
        for value in bert.parameters():
            value.zero_()
    [after] = _read(mine, ids, mask).values()
    return "an encoder" if torch.equal(before, after) else "the library"


def _my_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    names, cases = ("bert",), []
    for name, scale in (
        ("a random BERT, float64", 0.5),
        ("one whose vectors hardly vary", 0.02),  # so epsilon matters
    ):
        bert, ids = tiny_bert(draw, scale=scale), ids_from(draw, 17, 2, 6)
        args = (bert, ids, padded(6, 4, length=6))
        cases.append(Case(name, args, inputs=names, look=_my_look))
    if seed == 0:  # the seed that students see; the real one takes a second
        bert, ids, real = _bundled()
        args = (bert, ids, real[:, None, None])
        rest = {"inputs": names, "look": _my_look, "tolerance": 5e-5}
        cases.append(Case("the bundled checkpoint, padded", args, **rest))
    return cases


swap_in_mine = exchanging(my_bert)


def _other_eps(bert: nn.Module) -> nn.Module:
    encoder = load_bert(shaped(bert.config, 0.1, "gelu", False, 1e-5), bert)
    encoder.positions.eps = 1e-5
    return encoder.eval()


class _Wrapper(nn.Module):
    """The library's model, called as an encoder is."""

    def __init__(self, bert: nn.Module) -> None:
        super().__init__()
        self.bert = bert
        self.eval()

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.bert(ids, mask[:, 0, 0].long()).last_hidden_state


class _Referring(nn.Module):
    """The same, with a model that is not one of its parts."""

    def __init__(self, bert: nn.Module) -> None:
        super().__init__()
        self.hidden = [bert]
        self.eval()

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.hidden[0](ids, mask[:, 0, 0].long()).last_hidden_state


def _behind_its_norm(bert: nn.Module) -> nn.Module:
    encoder = my_bert(bert)
    encoder.positions.norm = bert.embeddings.LayerNorm
    return encoder


MY_MISTAKES = (
    mistake(
        "ReLU instead of GELU",
        "The feed-forward networks use ReLU, but this BERT was trained with GELU.",
        "Look at `hidden_act` in BERT's configuration.",
        swap_in_mine(options=(0.1, "relu", False, 1e-12)),
        swap_in_mine(options=(0.1, "relu", False, 1e-5)),
    ),
    mistake(
        "the other GELU",
        "The feed-forward networks use the tanh approximation, but BERT's GELU is the "
        "exact one.",
        "There are two GELUs with two names. Which one is GPT-2's?",
        swap_in_mine(options=(0.1, "gelu_tanh", False, 1e-12)),
    ),
    mistake(
        "default epsilon",
        "The norms of the layers, if not all norms, use an epsilon of 1e-5; BERT's is "
        "far smaller.",
        "Look at `layer_norm_eps` in BERT's configuration.",
        swap_in_mine(options=(0.1, "gelu", False, 1e-5)),
        _other_eps,
    ),
    mistake(
        "pre-norm",
        "The layers are pre-norm, but BERT's LayerNorms come after the sums.",
        "Print BERT: do its LayerNorms come before or after `dense`?",
        swap_in_mine(options=(0.1, "gelu", True, 1e-12)),
    ),
    mistake(
        "number of heads",
        "The weights fit, but the heads are cut in the wrong places.",
        "Look at `num_attention_heads`: no shape can tell you that number.",
        swap_in_mine(heads=1),
        swap_in_mine(heads=5),
        swap_in_mine(heads=15),
    ),
    mistake(
        "left in training",
        "The encoder came back in training mode, with dropout switched on.",
        "What do you call before you use a model?",
        swap_in_mine(training=True),
    ),
    mistake(
        "positions not replaced",
        "The encoder still adds sine waves, which have no table for BERT's positions.",
        "What does exercise 4.F put in the place of `encoder.positions`?",
        lambda bert: load_bert(Encoder(*_sizes(bert.config)), bert),
    ),
    mistake(
        "weights not loaded",
        "The encoder has the right shape, but still its initial weights.",
        "Which function of yours copies the weights?",
        lambda bert: shaped(bert.config).eval(),
    ),
    mistake(
        "the library's model inside",
        "What came back holds the library's model or a part of it, so it is not your "
        "encoder alone that computes.",
        "Which of your classes is made with the sizes in `bert.config`, and what "
        "carries the numbers over?",
        _Wrapper,
        lambda bert: _Wrapper(copy.deepcopy(bert)),
        _Referring,
        _behind_its_norm,
    ),
)

EXERCISES = (
    Exercise(
        "4.F",
        "What BERT adds to a word",
        "class",
        difficulty=2,
        points=2,
        core=True,
        answers=(
            Answer(
                "BertPositions",
                BertPositions,
                {"output": "batch, length, d_model"},
                parts=("position", "token_type", "norm"),
            ),
        ),
        cases=_positions_cases,
        proves="positions, token type, the norm of the sum, epsilon, the gradient",
        misconceptions=POSITION_MISTAKES,
    ),
    Exercise(
        "4.G",
        "BERT's weights in your encoder",
        "function",
        difficulty=3,
        points=4,
        core=True,
        answers=(
            Answer("load_bert", load_bert, {"vectors at real tokens": "token, d"}),
        ),
        cases=_load_cases,
        proves="every weight of two random BERTs copied to its place, to 1e-9, with "
        "padding",
        misconceptions=LOAD_MISTAKES,
    ),
    Exercise(
        "4.H",
        "Your encoder is BERT",
        "function",
        difficulty=2,
        points=3,
        core=True,
        answers=(Answer("my_bert", my_bert, {"vectors at real tokens": "token, d"}),),
        cases=_my_cases,
        proves="a random BERT in float64 to 1e-9, the bundled checkpoint to 5e-5, both "
        "padded, without the library's code",
        misconceptions=MY_MISTAKES,
    ),
)
