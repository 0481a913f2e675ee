"""Our models beside torch.nn's and those of `transformers`."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import pretrained
from helpers.experiments.translation import translation_loss
from helpers.models.attention import attention
from helpers.models.encoder import EncoderLayer
from helpers.models.gpt import GPT, GPTConfig, load_gpt2, write_greedily
from helpers.models.multi_head import MultiHeadAttention
from helpers.models.recurrent import CharacterModel, Recurrent
from helpers.models.transformer import DecoderLayer, Transformer, TransformerConfig
from tools.bench.memory import in_own_process
from tools.bench.timing import Race, race

BATCH, LENGTH, WIDTH, HEADS, FF, LAYERS = 16, 128, 256, 4, 1024, 4
VOCAB, GPT_SIZES = 4096, ((8, 128), (4, 512), (2, 1024))
FASTER, AS_FAST = 1 / 1.5, 1.05  # 5 % of room for the noise of a machine
NO_MORE = 1.0


def attentions(quick: bool) -> Iterator[Race]:
    """Attention and multi-head attention, forward and backward."""
    for length in (128,) if quick else (64, 256, 1024):
        size = (4, HEADS, length, 64)
        parts = [torch.randn(size, requires_grad=True) for _ in range(3)]
        name = f"attention, length {length}"
        fused = _backward(lambda p=parts: F.scaled_dot_product_attention(*p))
        ours = _backward(lambda p=parts: attention(*p))
        yield race(name, ours, "F.scaled_dot_product_attention", fused, AS_FAST)
        slow = _backward(lambda p=parts: attention(*p, need_weights=True)[0])
        yield race(
            f"{name}, with its weights as in lesson 02",
            slow,
            "F.scaled_dot_product_attention",
            fused,
        )
    for length in (128,) if quick else (64, 256, 1024):
        x = torch.randn(4, length, WIDTH, requires_grad=True)
        mine = MultiHeadAttention(WIDTH, HEADS)
        theirs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        yield race(
            f"multi-head attention, length {length}",
            _backward(lambda x=x, m=mine: m(x, x, x)),
            "nn.MultiheadAttention",
            _backward(lambda x=x, t=theirs: t(x, x, x, need_weights=False)[0]),
            AS_FAST,
        )


def _backward(forward: Callable[[], Tensor]) -> Callable[[], None]:
    return lambda: forward().sum().backward()


class _Stack(nn.Module):
    """Layers one after the other."""

    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor, *more: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, *more)
        return x


def stacks(quick: bool) -> Iterator[Race]:
    """A training step of four encoder layers, and of four decoder layers."""
    x, memory = torch.randn(2, BATCH, LENGTH, WIDTH).unbind()
    sizes = (WIDTH, HEADS, FF, 0.1)
    mine = _Stack([EncoderLayer(*sizes) for _ in range(LAYERS)])
    one = nn.TransformerEncoderLayer(*sizes, batch_first=True)
    theirs = nn.TransformerEncoder(one, LAYERS)
    size = f"{LAYERS} layers, d_model {WIDTH}, {BATCH} x {LENGTH}"
    yield race(
        f"training step of an encoder: {size}",
        _step(mine, lambda: mine(x).square().mean()),
        "nn.TransformerEncoder",
        _step(theirs, lambda: theirs(x).square().mean()),
        AS_FAST,
        rounds=5,
    )
    causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    decoder = _Stack([DecoderLayer(*sizes) for _ in range(LAYERS)])
    one = nn.TransformerDecoderLayer(*sizes, batch_first=True)
    other = nn.TransformerDecoder(one, LAYERS)
    yield race(
        f"training step of a decoder: {size}",
        _step(decoder, lambda: decoder(x, memory, causal).square().mean()),
        "nn.TransformerDecoder",
        _step(other, lambda: other(x, memory, ~causal).square().mean()),
        AS_FAST,
        rounds=5,
    )


def _step(
    model: nn.Module,
    loss: Callable[[], Tensor],
    optimizer: torch.optim.Optimizer | None = None,
) -> Callable[[], None]:
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


class _Translator(nn.Module):
    """torch's encoder and decoder of the sizes of the course's translator."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        width = config.d_model
        self.source = nn.Embedding(config.source_vocab, width)
        self.target = nn.Embedding(config.target_vocab, width)
        sizes = (width, config.num_heads, config.d_ff, config.dropout)
        options = {"batch_first": True, "norm_first": config.norm_first}
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(*sizes, **options),
            config.num_layers,
            nn.LayerNorm(width),
            enable_nested_tensor=False,
        )
        layer = nn.TransformerDecoderLayer(*sizes, **options)
        self.decoder = nn.TransformerDecoder(
            layer, config.num_layers, nn.LayerNorm(width)
        )
        self.final_layer = nn.Linear(width, config.target_vocab)

    def forward(
        self, source: Tensor, target: Tensor, source_mask: Tensor, target_mask: Tensor
    ) -> Tensor:
        memory = self.encoder(self.source(source))
        unseen = ~target_mask[0, 0]
        return self.final_layer(self.decoder(self.target(target), memory, unseen))


def translators() -> tuple[nn.Module, nn.Module]:
    """Ours and torch's, of the sizes of the core of the little language in German."""
    config = TransformerConfig(219, 343, 64, 4, 128, 2, 64, 0.0, norm_first=True)
    return Transformer(config), _Translator(config)


def translator_training(quick: bool) -> Iterator[Race]:
    """A training step of a translator of the core of the little language."""
    mine, theirs = translators()
    batch = torch.randint(3, 219, (64, 13)), torch.randint(3, 343, (64, 14))
    yield race(
        "training step of a translator, 64 sentences of 13 words",
        _step(mine, lambda: translation_loss(mine, batch)),
        "nn.TransformerEncoder and nn.TransformerDecoder",
        _step(theirs, lambda: translation_loss(theirs, batch)),
        AS_FAST,
        rounds=5,
    )


def gpt_training(quick: bool) -> Iterator[Race]:
    """A training step of a GPT, at three lengths with about as many tokens."""
    for batch, length in GPT_SIZES[:1] if quick else GPT_SIZES:
        ids = torch.randint(0, VOCAB, (batch, length + 1))
        mine, theirs = fresh_gpt(), fresh_gpt2()
        count = sum(value.numel() for value in mine.parameters()) / 1e6
        yield race(
            f"training step of a GPT, {count:.1f} M parameters, {batch} x {length}",
            gpt_step(mine, ids),
            "transformers, GPT2LMHeadModel",
            gpt_step(theirs, ids),
            NO_MORE,
            rounds=5,
        )


def gpt_memory(quick: bool) -> Iterator[Race]:
    """What the same step needs beside weights, gradients and the optimizer's state."""
    for batch, length in GPT_SIZES[-1:]:
        sizes = (str(batch), str(length))
        yield Race(
            f"peak memory of a training step of a GPT, {batch} x {length}",
            "transformers, GPT2LMHeadModel",
            in_own_process(GPT_MEMORY, "fresh_gpt", *sizes),
            in_own_process(GPT_MEMORY, "fresh_gpt2", *sizes),
            NO_MORE,
            unit="MB",
        )


# Before it is measured, one step on few tokens creates gradients and optimizer state.
GPT_MEMORY = """
import json, sys
import torch
from tools.bench import memory, models
torch.set_num_threads(1)
name, batch, length = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
model = getattr(models, name)()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
def step(*size):
    models.gpt_step(model, torch.randint(0, models.VOCAB, size), optimizer)()
step(1, 9)
print(json.dumps(memory.peak_above(lambda: step(batch, length + 1))))
"""


def fresh_gpt() -> GPT:
    """Ours, with random weights and room for 1,024 tokens."""
    return GPT(GPTConfig(VOCAB, 1024, WIDTH, HEADS, LAYERS)).train()


def fresh_gpt2() -> nn.Module:
    """The library's, of the same sizes; like ours without dropout, and no cache."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=VOCAB,
        n_positions=1024,
        n_embd=WIDTH,
        n_head=HEADS,
        n_layer=LAYERS,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=False,
    )
    with pretrained.quiet():
        return GPT2LMHeadModel(config).train()


def gpt_step(
    model: nn.Module, ids: Tensor, optimizer: torch.optim.Optimizer | None = None
) -> Callable[[], None]:
    """A training step on ids (B, T + 1): T are read and T guessed, on either side."""

    def loss() -> Tensor:
        output = model(ids[:, :-1])
        logits = output if isinstance(output, Tensor) else output.logits
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())

    return _step(model, loss, optimizer)


def generation(quick: bool) -> Iterator[Race]:
    """Greedy generation of 128 tokens with a cache."""
    mine, theirs = _gpts()
    count = 32 if quick else 128
    for batch in (1, 8):
        ids = torch.randint(1, 4096, (batch, 16))
        settings: Any = {
            "max_new_tokens": count,
            "do_sample": False,
            "eos_token_id": None,
            "pad_token_id": 0,
            "attention_mask": torch.ones_like(ids),
        }
        yield race(
            f"greedy generation, {count} tokens, batch {batch}",
            lambda ids=ids: write_greedily(mine, ids, count),
            "transformers, model.generate",
            lambda ids=ids, settings=settings: theirs.generate(ids, **settings),
            FASTER if batch == 1 else AS_FAST,
            rounds=5,
        )


def _gpts() -> tuple[GPT, Any]:
    """The bundled GPT-2, as our model and as the library's."""
    from transformers import GPT2LMHeadModel

    with pretrained.quiet():
        theirs = GPT2LMHeadModel.from_pretrained(pretrained.path("gpt2"))
    return load_gpt2(pretrained.path("gpt2")), theirs.eval()


def recurrents(quick: bool) -> Iterator[Race]:
    """A training step of each recurrent layer: from the formulas, and torch's."""
    x = torch.randn(16, 64, 64)
    for cell, layer in (("rnn", nn.RNN), ("lstm", nn.LSTM), ("gru", nn.GRU)):
        mine, theirs = Recurrent(64, 128, cell), layer(64, 128, batch_first=True)
        yield race(
            f"training step of the {cell.upper()} from its formulas, 16 x 64",
            _step(mine, lambda m=mine: m(x)[0].square().mean()),
            f"nn.{cell.upper()}",
            _step(theirs, lambda t=theirs: t(x)[0].square().mean()),
        )
    ids = torch.randint(0, 61, (16, 64))
    for cell, layer in (("rnn", nn.RNN), ("lstm", nn.LSTM), ("gru", nn.GRU)):
        model, bare = CharacterModel(61, 128, cell), layer(61, 128, batch_first=True)
        output = nn.Linear(128, 61)
        yield race(
            f"training step of the course's {cell.upper()} on characters, 16 x 64",
            _step(model, lambda m=model: m(ids)[0].square().mean()),
            f"nn.{cell.upper()} and nn.Linear",
            _step(
                nn.ModuleList([bare, output]),
                lambda b=bare, o=output: (
                    o(b(F.one_hot(ids, 61).float())[0]).square().mean()
                ),
            ),
            AS_FAST,
        )
