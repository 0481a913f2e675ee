"""The reference decoder and Transformer against torch.nn, in float64."""

import inspect
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from helpers.generation.decoding import greedy_decode
from helpers.models.encoder import Encoder
from helpers.models.stack import StackConfig
from helpers.models.transformer import (
    Decoder,
    DecoderLayer,
    Transformer,
    TransformerConfig,
    copy_weights,
    cross_weights,
    look_ahead_mask,
    padding_mask,
    target_mask,
)

pytestmark = pytest.mark.lesson("05")
B, T, S, D, H, D_FF, V_SOURCE, V_TARGET = 2, 5, 7, 12, 3, 11, 17, 19
both_orders = pytest.mark.parametrize("norm_first", [False, True])
CONFIG = TransformerConfig(V_SOURCE, V_TARGET, D, H, D_FF, 2, 23, 0.1)


@pytest.fixture
def draw():
    return torch.Generator().manual_seed(5)


def normal(draw, *size):
    return torch.randn(size, generator=draw, dtype=torch.float64)


def shaken(module, draw):
    """The module in float64 with random numbers everywhere, norms included."""
    module.double()
    with torch.no_grad():
        for value in module.parameters():
            value.copy_(0.5 * normal(draw, *value.shape))
    return module.eval()


def gap(one, other):
    return (one - other).abs().max().item()


def padded(*real, length):
    """Which of the tokens are real, (B, length)."""
    return torch.arange(length) < torch.tensor(real)[:, None]


def copy_layer(theirs, mine):
    """One decoder layer, through what copies a whole model."""
    one = SimpleNamespace(layers=[theirs], norm=None)
    none = SimpleNamespace(layers=[], norm=None)
    ours = SimpleNamespace(layers=[mine], norm=nn.Identity())
    nothing = SimpleNamespace(layers=[], norm=nn.Identity())
    copy_weights(
        SimpleNamespace(encoder=none, decoder=one),
        SimpleNamespace(encoder=nothing, decoder=ours),
    )


@both_orders
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("masked", [False, True])
def test_layer_is_torchs(norm_first, activation, masked, draw):
    theirs = nn.TransformerDecoderLayer(
        D, H, D_FF, 0.1, activation, 1e-3, batch_first=True, norm_first=norm_first
    )
    shaken(theirs, draw)
    mine = DecoderLayer(D, H, D_FF, 0.1, activation, norm_first, 1e-3).double().eval()
    copy_layer(theirs, mine)
    x, memory = (normal(draw, B, n, D).requires_grad_() for n in (T, S))
    future, real = look_ahead_mask(T), padded(S, 4, length=S)
    more = {"tgt_mask": ~future, "memory_key_padding_mask": ~real} if masked else {}
    masks = (future, real[:, None, None]) if masked else (None, None)
    expected, got = theirs(x, memory, **more), mine(x, memory, *masks)
    assert gap(got, expected) < 1e-9
    for mine_slope, slope in zip(
        torch.autograd.grad(got.square().sum(), (x, memory)),
        torch.autograd.grad(expected.square().sum(), (x, memory)),
        strict=True,
    ):
        assert gap(mine_slope, slope) < 1e-9 * slope.abs().max()


def torch_transformer(norm_first, draw):
    """Torch's own and ours, on the same numbers; embeddings and last layer are ours."""
    options = {"batch_first": True, "norm_first": norm_first}
    reader = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(D, H, D_FF, **options),
        2,
        nn.LayerNorm(D),
        enable_nested_tensor=False,  # else it warns that it can't
    )
    theirs = nn.Transformer(D, H, 2, 2, D_FF, custom_encoder=reader, **options)
    mine = shaken(Transformer(replace(CONFIG, norm_first=norm_first)), draw)
    shaken(theirs, draw)
    if not norm_first:  # torch has one more norm there than the paper
        with pytest.raises(ValueError, match="last norm"):
            copy_weights(theirs, mine)
        theirs.encoder.norm = theirs.decoder.norm = None
    copy_weights(theirs, mine)
    return theirs, mine


@both_orders
def test_transformer_is_torchs(norm_first, draw):
    theirs, mine = torch_transformer(norm_first, draw)
    source = torch.randint(1, V_SOURCE, (B, S), generator=draw)
    source[1, 4:] = 0
    target = torch.randint(1, V_TARGET, (B, T), generator=draw)
    target[0, 3:] = 0
    blocked = source == 0
    read = mine.encoder.positions(mine.encoder.embedding(source))
    written = mine.decoder.positions(mine.decoder.embedding(target))
    expected = theirs(
        read,
        written,
        tgt_mask=~look_ahead_mask(T),
        src_key_padding_mask=blocked,
        tgt_key_padding_mask=target == 0,
        memory_key_padding_mask=blocked,
    )
    masks = padding_mask(source), target_mask(target)
    got = mine(source, target, *masks)
    assert got.shape == (B, T, V_TARGET)
    assert gap(got, mine.final_layer(expected)) < 1e-9
    memory = mine.encode(source, masks[0])
    again = mine.decode(target, memory, masks[1], masks[0])
    assert torch.equal(again, got)


def test_what_both_stacks_take_is_named_typed_and_cannot_change():
    stack = replace(CONFIG, norm_first=True).stack
    assert stack == (D, H, D_FF, 2, 23, 0.1, "relu", True)
    with pytest.raises(AttributeError):
        stack.dropout = 0.5
    takes = list(inspect.signature(Decoder).parameters.values())[1:9]
    assert tuple(one.name for one in takes) == StackConfig._fields
    defaults = {one.name: one.default for one in takes if one.default is not one.empty}
    assert defaults == StackConfig._field_defaults
    assert inspect.signature(Encoder) == inspect.signature(Decoder)
    by_name = Decoder(V_TARGET, **stack._asdict())
    assert by_name.state_dict().keys() == Decoder(V_TARGET, *stack).state_dict().keys()
    assert by_name.dropout.p == by_name.layers[1].dropout.p == 0.1
    assert by_name.layers[1].norm_first and len(by_name.positions.table) == 23


@both_orders
def test_decoder_is_torchs_stack(norm_first, draw):
    one = nn.TransformerDecoderLayer(
        D, H, D_FF, batch_first=True, norm_first=norm_first
    )
    end = nn.LayerNorm(D) if norm_first else None
    theirs = shaken(nn.TransformerDecoder(one, 3, end), draw)
    mine = shaken(Decoder(20, D, H, D_FF, 3, norm_first=norm_first), draw)
    for a, b in zip(theirs.layers, mine.layers, strict=True):
        copy_layer(a, b)
    if norm_first:
        mine.norm.load_state_dict(end.state_dict())
    ids, memory = torch.randint(20, (B, T), generator=draw), normal(draw, B, S, D)
    x = mine.positions(mine.embedding(ids))
    expected = theirs(x, memory, tgt_mask=~look_ahead_mask(T))
    assert gap(mine(ids, memory, look_ahead_mask(T)), expected) < 1e-9


def test_masks():
    assert look_ahead_mask(3).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    ids = torch.tensor([[4, 3, 0], [5, 0, 0]])
    assert padding_mask(ids).shape == (2, 1, 1, 3)
    assert padding_mask(ids).flatten(1).tolist() == [[1, 1, 0], [1, 0, 0]]
    assert target_mask(ids)[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert target_mask(ids)[1, 0].tolist() == [[1, 0, 0]] * 3
    assert padding_mask(ids, padding_id=3)[0].flatten().tolist() == [1, 0, 1]


@both_orders
def test_future_and_padding_change_nothing(norm_first, draw):
    model = shaken(Transformer(replace(CONFIG, norm_first=norm_first)), draw)
    source = torch.randint(1, V_SOURCE, (1, S), generator=draw)
    real = padded(4, length=S)[:, None, None]
    target = torch.randint(1, V_TARGET, (1, T), generator=draw)
    before = model(source, target, real, look_ahead_mask(T))
    source[0, 5], target[0, 3] = source[0, 5] % 16 + 1, target[0, 3] % 18 + 1
    after = model(source, target, real, look_ahead_mask(T))
    assert gap(before[:, :3], after[:, :3]) < 1e-9
    assert gap(before[:, 3:], after[:, 3:]) > 1e-3


def test_dropout_is_for_training_only(draw):
    layer = DecoderLayer(D, H, D_FF, dropout=0.5).double()
    x, memory = normal(draw, B, T, D), normal(draw, B, S, D)
    assert gap(layer(x, memory, None), layer(x, memory, None)) > 0.1
    layer.eval()
    assert torch.equal(layer(x, memory, None), layer(x, memory, None))


def test_dropout_spares_the_residual(draw):
    x, memory = normal(draw, B, T, D), normal(draw, B, S, D)
    layer = DecoderLayer(D, H, D_FF, dropout=1.0, norm_first=True).double()
    assert torch.equal(layer(x, memory, None), x)


def test_cross_weights_are_those_of_the_forward_pass(draw):
    model = shaken(Transformer(CONFIG), draw)
    source = torch.randint(1, V_SOURCE, (B, S), generator=draw)
    target = torch.randint(1, V_TARGET, (B, T), generator=draw)
    real = padded(S, 4, length=S)[:, None, None]
    inputs = source, target, real, look_ahead_mask(T)
    before = model(*inputs)
    found = cross_weights(model, *inputs)
    assert [weights.shape for weights in found] == [(B, H, T, S)] * 2
    assert gap(found[0].sum(-1), torch.ones(B, H, T)) < 1e-9
    assert found[1][1, ..., 4:].abs().max() == 0
    memory = model.encode(source, real)
    layer = model.decoder.layers[0]
    x = model.decoder.positions(model.decoder.embedding(target))
    x = layer.norm1(x + layer.self_attention(x, x, x, look_ahead_mask(T)))
    attention = layer.cross_attention
    _, expected = attention(x, memory, memory, real, need_weights=True)
    assert gap(found[0], expected) < 1e-9
    assert torch.equal(model(*inputs), before)
    assert len(found) == 2  # the hooks are gone


def step_by_step(model, source, real, start, end, most):
    """Greedy decoding of one sequence, written from its description."""
    ids = [start]
    for _ in range(most):
        mask = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
        logits = model(source[None], torch.tensor([ids]), real, mask)
        ids.append(int(logits[0, -1].argmax()))
        if ids[-1] == end:
            break
    return ids


def talkative(draw):
    """A random model that writes many words, and others for each source."""
    model = shaken(Transformer(replace(CONFIG, norm_first=True)), draw)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if name.endswith("bias"):
                value.zero_()  # a bias says the same at every place
        for stack in (model.encoder, model.decoder):
            stack.embedding.table.weight.mul_(3)
    return model


def test_greedy_decoding_is_that_of_each_sequence_alone(draw):
    lengths, most_words = set(), 0
    for _ in range(8):
        model = talkative(draw)
        source = torch.randint(1, V_SOURCE, (3, S), generator=draw)
        real = padded(S, 4, 2, length=S)
        free = greedy_decode(model, source, real[:, None, None], 18, -1, 9)
        for end in {*free[:, 2:].flatten().tolist()}:  # all that they do write
            got = greedy_decode(model, source, real[:, None, None], 18, end, 9)
            alone = [
                step_by_step(model, one, some[None, None], 18, end, 9)
                for one, some in zip(source, real, strict=True)
            ]
            longest = max(map(len, alone))
            assert got.shape == (3, longest) and got.dtype == torch.long
            for row, expected in zip(got.tolist(), alone, strict=True):
                assert row == expected + [0] * (longest - len(expected))
            lengths.add(tuple(sorted(map(len, alone))))
            most_words = max(most_words, *(len(set(one)) for one in alone))
    assert any(one[-1] < 10 and len(set(one)) > 1 for one in lengths)  # all end, apart
    assert any(one[0] < 10 == one[-1] for one in lengths)  # some end, others never
    assert most_words > 4  # the start token among them


def test_greedy_decoding_keeps_no_graph(draw):
    model = shaken(Transformer(CONFIG), draw)
    seen = []
    model.decoder.register_forward_hook(lambda *args: seen.append(args[2]))
    source = torch.randint(1, V_SOURCE, (1, S), generator=draw)
    greedy_decode(model, source, None, 18, -1, 3)
    assert len(seen) == 3 and not any(output.requires_grad for output in seen)
