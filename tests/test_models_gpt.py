"""The reference GPT against `transformers`, its cache against no cache."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers import pretrained
from helpers.exercises.gpt import block as own_block
from helpers.exercises.gpt import model as own_model
from helpers.exercises.multi_head import module as heads
from helpers.experiments.character_contest import AsRecurrent
from helpers.experiments.writing import fill
from helpers.models.gpt import (
    GPT,
    Cache,
    CausalSelfAttention,
    GPTBlock,
    GPTConfig,
    attention_weights,
    from_gpt2,
    initialise,
    load_gpt2,
    no_future,
    write_greedily,
)
from helpers.models.multi_head import MultiHeadAttention

pytestmark = pytest.mark.lesson("10")
B, T = 2, 7
CONFIG = GPTConfig(vocab_size=17, max_length=11, d_model=12, num_heads=3, num_layers=2)


@pytest.fixture
def draw():
    return torch.Generator().manual_seed(10)


@pytest.fixture
def model(draw):
    return shaken(GPT(CONFIG), draw)


@pytest.fixture
def ids(draw):
    return torch.randint(CONFIG.vocab_size, (B, T), generator=draw)


def shaken(module, draw):
    """The module in float64 with random numbers everywhere, norms included."""
    module.double()
    with torch.no_grad():
        for value in module.parameters():
            numbers = torch.randn(value.shape, generator=draw, dtype=torch.float64)
            value.copy_(0.5 * numbers)
    return module.eval()


def gap(one, other):
    return (one - other).abs().max().item()


def their_gpt2(config):
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=config.vocab_size,
            n_positions=config.max_length,
            n_embd=config.d_model,
            n_head=config.num_heads,
            n_layer=config.num_layers,
        )
    )


def test_the_model_is_transformers_in_float64(draw, ids):
    theirs = shaken(their_gpt2(CONFIG), draw)
    mine = GPT(CONFIG).double().eval()
    mine.load_state_dict(from_gpt2(theirs.state_dict(), CONFIG.num_layers))
    assert gap(mine(ids), theirs(ids).logits) < 1e-9
    bare = {k.removeprefix("transformer."): v for k, v in theirs.state_dict().items()}
    state = from_gpt2(bare, CONFIG.num_layers)  # named as in OpenAI's own file
    assert all(torch.equal(value, mine.state_dict()[k]) for k, value in state.items())


def test_the_gradient_is_transformers(draw, ids):
    theirs = shaken(their_gpt2(CONFIG), draw)
    mine = GPT(CONFIG).double().eval()
    mine.load_state_dict(from_gpt2(theirs.state_dict(), CONFIG.num_layers))
    for one in (mine, theirs):
        output = one(ids)
        logits = output if isinstance(output, torch.Tensor) else output.logits
        logits.logsumexp(-1).sum().backward()
    table, other = mine.embedding.weight.grad, theirs.transformer.wte.weight.grad
    assert gap(table, other) < 1e-9


def test_the_bundled_checkpoint_gives_transformers_logits():
    from transformers import AutoModelForCausalLM

    folder = pretrained.path("gpt2")
    with pretrained.quiet():
        theirs = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    mine = load_gpt2(folder)
    assert not mine.training
    tokenizer = pretrained.load_tokenizer("gpt2")
    for text in ("This class is used to", "x", "Return the number of elements in"):
        ids = torch.tensor([tokenizer.encode(text)])
        with torch.no_grad():
            assert gap(mine(ids), theirs.eval()(ids).logits) < 5e-5


def test_greedy_writing_is_generate():
    from transformers import AutoModelForCausalLM

    folder = pretrained.path("gpt2")
    with pretrained.quiet():
        theirs = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        theirs.generation_config.eos_token_id = None
        ids = torch.randint(1, 4096, (3, 9), generator=torch.Generator().manual_seed(0))
        wanted = theirs.eval().generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=30,
            do_sample=False, pad_token_id=0,
        )  # fmt: skip
    assert torch.equal(write_greedily(load_gpt2(folder), ids, 30), wanted)


# --- the cache ---


@pytest.mark.parametrize("pieces", [(1,) * T, (4, 3), (1, 5, 1), (T,)])
def test_a_cache_changes_nothing(model, ids, pieces):
    cache = model.new_cache(B)
    parts = [model(piece, cache) for piece in ids.split(pieces, 1)]
    assert cache.length == T
    assert gap(torch.cat(parts, 1), model(ids)) < 1e-9


def test_a_cache_holds_the_keys_and_values_of_each_layer(model, ids):
    cache = model.new_cache(B)
    model(ids, cache)
    x = model.embedding(ids) + model.positions.weight[:T]
    for layer, (keys, values) in zip(model.layers, cache.layers, strict=True):
        part = layer.attention.to_qkv(layer.norm1(x))
        _, key, value = (p.unflatten(-1, (3, 4)).mT.mT for p in part.chunk(3, -1))
        assert gap(keys[:, :, :T], key.transpose(1, 2)) < 1e-9
        assert gap(values[:, :, :T], value.transpose(1, 2)) < 1e-9
        x = layer(x)


def test_a_cache_has_the_models_dtype_and_room():
    like = torch.zeros(1, dtype=torch.float64)
    cache = Cache(CONFIG, 5, like)
    assert len(cache.layers) == 2
    assert cache.layers[0][0].shape == (5, 3, 11, 4)
    assert cache.layers[0][0].dtype == torch.float64


@pytest.mark.parametrize("new", [1, 4])
def test_writing_with_and_without_a_cache_is_the_same(model, ids, new):
    ids = ids[:, :5]
    cached = write_greedily(model, ids, new)
    assert torch.equal(cached, write_greedily(model, ids, new, cached=False))
    assert cached.shape == (B, 5 + new) and torch.equal(cached[:, :5], ids)
    for end in range(5, 5 + new):
        best = model(cached[:, :end])[:, -1].argmax(-1)
        assert torch.equal(cached[:, end], best)


def test_writing_leaves_the_mode_as_it_was(model, ids):
    model.train()
    write_greedily(model, ids[:, :2], 1)
    assert model.training


def test_too_long_a_text_is_refused(model, ids):
    with pytest.raises(ValueError, match="14 tokens, but 11 positions"):
        model(ids.repeat(1, 2))
    cache = model.new_cache(B)
    model(ids, cache)
    with pytest.raises(ValueError, match="12 tokens, but 11 positions"):
        model(ids[:, :5], cache)


# --- the parts ---


def test_the_kernel_gets_its_flag_or_one_mask_for_all_layers(model, ids, monkeypatch):
    asked = []
    kernel = F.scaled_dot_product_attention

    def spy(*parts, attn_mask, is_causal, **more):
        asked.append((attn_mask, is_causal))
        return kernel(*parts, attn_mask=attn_mask, is_causal=is_causal, **more)

    monkeypatch.setattr(F, "scaled_dot_product_attention", spy)
    cache = model.new_cache(B)
    for piece in (None, ids[:, :3], ids[:, 3:6], ids[:, 6:]):
        model(ids) if piece is None else model(piece, cache)
    whole, beginning, further, one = asked[:2], asked[2:4], asked[4:6], asked[6:]
    assert whole == beginning == [(None, True)] * 2 and one == [(None, False)] * 2
    (mask, flag), (other, _) = further
    assert mask is other and not flag
    assert torch.equal(mask, torch.ones(3, 6).tril(3).bool())


def test_no_token_sees_a_later_one(model, ids):
    for place in range(T):
        other = ids.clone()
        other[:, place] = (ids[:, place] + 1) % CONFIG.vocab_size
        moved = (model(other) - model(ids)).abs().amax((0, 2))
        assert (moved[:place] == 0).all() and moved[place] > 1e-6


def test_attention_is_multi_head_attention_under_a_mask(draw):
    mine = shaken(CausalSelfAttention(12, 3), draw)
    other = MultiHeadAttention(12, 3).double()
    other.load_state_dict(mine.state_dict())
    x = torch.randn(B, T, 12, generator=draw, dtype=torch.float64)
    output, weights = mine(x, need_weights=True)
    wanted = other(x, x, x, torch.ones(T, T).tril().bool(), need_weights=True)
    assert gap(output, wanted[0]) < 1e-9 and gap(weights, wanted[1]) < 1e-9
    assert gap(mine(x), output) < 1e-9


def test_weights_on_request(model, ids):
    found = attention_weights(model, ids)
    assert [tuple(one.shape) for one in found] == [(B, 3, T, T)] * 2
    for one in found:
        assert gap(one.sum(-1), torch.ones(B, 3, T).double()) < 1e-9
        assert one.triu(1).abs().max() == 0
    assert not model.layers[0].attention._forward_pre_hooks


def test_the_mask_of_the_last_tokens():
    assert no_future(1, 5) is None
    assert no_future(2, 4).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]


def test_the_table_is_counted_once_and_trained_from_both_ends(ids):
    model = GPT(CONFIG)
    count = sum(p.numel() for p in model.parameters())
    d, v, t = 12, 17, 11
    block = 4 * d + (3 * d * d + 3 * d) + (d * d + d) + (8 * d * d + 5 * d)
    assert count == v * d + t * d + 2 * block + 2 * d
    with torch.device("meta"):
        whole = GPT(GPTConfig(50_257, 1024, 768, 12, 12))
    assert sum(p.numel() for p in whole.parameters()) == 124_439_808
    model(ids[:, :2]).sum().backward()
    unread = [v for v in range(17) if v not in ids[:, :2]]
    assert (model.embedding.weight.grad[unread] != 0).any()


def test_first_numbers():
    torch.manual_seed(0)
    model = GPT(replace(CONFIG, vocab_size=500, first_std=0.07))
    assert abs(model.embedding.weight.std().item() - 0.07) < 0.005
    assert model.layers[0].attention.to_qkv.bias.abs().max() == 0
    layer = nn.Linear(300, 200)
    initialise(layer)
    assert abs(layer.weight.std().item() - 0.02) < 1e-3


def test_dropout_reaches_every_part(draw):
    block = GPTBlock(12, 3, 48, dropout=1.0)
    x = torch.randn(B, T, 12, generator=draw)
    assert torch.equal(block.train()(x), x)
    assert block.attention.dropout == 1.0
    whole = GPT(replace(CONFIG, dropout=0.3))
    assert whole.dropout.p == whole.layers[1].dropout.p == 0.3


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="d_model=10 is not a multiple of num_heads=3"):
        GPT(replace(CONFIG, d_model=10))


def test_another_activation_is_refused(tmp_path):
    file = tmp_path / "config.json"
    file.write_text('{"activation_function": "relu"}', "utf-8")
    with pytest.raises(ValueError, match="activation relu"):
        load_gpt2(tmp_path)


class OwnBlock(own_block.GPTBlock):
    """A block as a student has it: its attention is that of 3.C, in three matrices."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout)
        kind = heads.as_layer(heads.MultiHeadAttention)
        self.attention = kind(d_model, num_heads)


class OwnGPT(own_model.GPT):
    """A model as a student has it, of such blocks."""

    def layer(self, dropout=None):
        """A new block."""
        config = self.config
        return OwnBlock(config.d_model, config.num_heads, config.d_ff, config.dropout)


@pytest.mark.parametrize("kind", [OwnGPT, GPT])
def test_a_student_s_own_gpt_takes_the_storyteller_s_weights(kind):
    theirs = pretrained.load_gpt2("storyteller")
    config = theirs.config
    sizes = config.vocab_size, config.n_positions, config.n_embd, config.n_head
    own = kind(GPTConfig(*sizes, config.n_layer))
    own = fill(own, load_gpt2(pretrained.path("storyteller")))
    ids = torch.randint(3, 1000, (2, 40), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        wanted = theirs(ids).logits
        assert gap(own(ids), wanted) < 1e-4
        first, state = AsRecurrent(own)(ids[:, :30])
        rest, _ = AsRecurrent(own)(ids[:, 30:], state)
        assert gap(torch.cat([first, rest], 1), wanted) < 1e-4
