"""Lesson 04 in other hands: other parts, other spellings, the same numbers."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.models import layers as parts
from helpers.models.encoder import EncoderLayer as ReferenceLayer
from helpers.models.multi_head import MultiHeadAttention
from helpers.models.positions import PositionalEncoding, positional_encoding

# --- 4.1 feed-forward ---


class FeedForwardByHand(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.W_2 = nn.Linear(d_ff, d_model)  # in the other order
        self.W_1 = nn.Linear(d_model, d_ff)
        self.smooth = activation == "gelu"

    def forward(self, x):
        inside = x @ self.W_1.weight.T + self.W_1.bias
        if self.smooth:
            inside = inside * 0.5 * (1 + torch.erf(inside / math.sqrt(2)))
        else:
            inside = inside.clamp(min=0)
        return inside @ self.W_2.weight.T + self.W_2.bias


class FeedForwardOfModules(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.W_1, self.W_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.bend = {"relu": nn.ReLU(), "gelu": nn.GELU()}[activation]

    def forward(self, x: Tensor) -> Tensor:
        return nn.Sequential(self.W_1, self.bend, self.W_2)(x)


class FeedForwardInPlace(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.f = getattr(F, activation)
        self.W_1 = nn.Linear(d_model, d_ff, bias=True)
        self.W_2 = nn.Linear(d_ff, d_model, bias=True)

    def forward(self, x):
        hidden = self.W_1(x)
        hidden = F.relu_(hidden) if self.f is F.relu else self.f(hidden)
        return F.linear(hidden, self.W_2.weight, self.W_2.bias)


# --- 4.2 layer norm ---


class NormByVariance(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.epsilon = eps

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=-1, unbiased=False, keepdim=True)
        return (x - mean) * torch.rsqrt(
            variance + self.epsilon
        ) * self.weight + self.bias


class NormByBessel(nn.Module):
    """torch's default variance, brought back from n - 1 to n."""

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        n = self.d_model
        centred = x - x.sum(-1, keepdim=True) / n
        variance = x.var(-1).unsqueeze(-1) * (n - 1) / n
        return torch.addcmul(
            self.bias, self.weight, centred / (variance + self.eps) ** 0.5
        )


class NormByLoops(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.full((d_model,), 1.0))
        self.bias = nn.Parameter(torch.full((d_model,), 0.0))
        self.eps = eps

    def forward(self, x):
        rows = []
        for row in x.reshape(-1, x.shape[-1]):
            mean = sum(row) / len(row)
            variance = sum((one - mean) ** 2 for one in row) / len(row)
            rows.append((row - mean) / torch.sqrt(variance + self.eps))
        return torch.stack(rows).view_as(x) * self.weight + self.bias


# --- 4.3 encoder layer ---


class LayerOfTorchNorms(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, activation="relu",
                 norm_first=False, eps=1e-5):  # fmt: skip
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model, eps=eps)
        self.norm2 = nn.LayerNorm(d_model, eps=eps)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = parts.FeedForward(d_model, d_ff, activation)
        self.dropout1, self.dropout2 = nn.Dropout(dropout), nn.Dropout(dropout)
        self.pre = norm_first

    def forward(self, x, mask=None):
        y = self.norm1(x) if self.pre else x
        x = x + self.dropout1(self.attention(y, y, y, mask))
        x = x if self.pre else self.norm1(x)
        y = self.norm2(x) if self.pre else x
        x = x + self.dropout2(self.feed_forward(y))
        return x if self.pre else self.norm2(x)


class LayerOfOwnParts(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, activation="relu",
                 norm_first=False, eps=1e-5):  # fmt: skip
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForwardByHand(d_model, d_ff, activation)
        self.norm1, self.norm2 = (NormByVariance(d_model, eps) for _ in range(2))
        self.p, self.norm_first = dropout, norm_first

    def add(self, x, sublayer, norm):
        y = sublayer(norm(x)) if self.norm_first else sublayer(x)
        y = x + F.dropout(y, self.p, training=self.training)
        return y if self.norm_first else norm(y)

    def forward(self, x, mask=None):
        x = self.add(x, lambda y: self.attention(y, y, y, mask), self.norm1)
        return self.add(x, self.feed_forward, self.norm2)


class LayerWithSequential(nn.Module):
    """A feed-forward without names, and dropout inside of it as torch has it."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, activation="relu",
                 norm_first=False, eps=1e-5):  # fmt: skip
        super().__init__()
        bend = nn.GELU() if activation == "gelu" else nn.ReLU()
        first, second = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.feed_forward = nn.Sequential(first, bend, nn.Dropout(dropout), second)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = NormByBessel(d_model, eps)
        self.norm2 = nn.LayerNorm(d_model, eps)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            h = self.norm1(x)
            h = self.attention(h, h, h, mask)
            x = self.dropout(h) + x
            return self.dropout(self.feed_forward(self.norm2(x))) + x
        h = self.attention(x, x, x, mask)
        x = self.norm1(torch.add(x, self.dropout(h)))
        return self.norm2(torch.add(x, self.dropout(self.feed_forward(x))))


# --- 4.4 encoder ---


class EncoderOfReferenceLayers(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers,
                 max_length=512, dropout=0.1, activation="relu",
                 norm_first=False, eps=1e-5):  # fmt: skip
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.positions = PositionalEncoding(d_model, max_length)
        self.dropout = nn.Dropout(dropout)
        layers = []
        for _ in range(num_layers):
            layers.append(
                ReferenceLayer(
                    d_model, num_heads, d_ff, dropout, activation, norm_first, eps
                )  # fmt: skip
            )
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(d_model, eps) if norm_first else None

    def forward(self, ids, mask=None):
        width = self.embedding.weight.shape[1]
        x = self.positions(self.embedding(ids) * math.sqrt(width))
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, mask)
        return x if self.norm is None else self.norm(x)


class Waves(nn.Module):
    """Positions with a table that is saved, and made for the inputs' dtype."""

    def __init__(self, d_model, max_length):
        super().__init__()
        self.d_model, self.most = d_model, max_length

    def forward(self, x):
        return x + positional_encoding(x.shape[1], self.d_model, x.dtype)


class EncoderOfOwnLayers(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers,
                 max_length=512, dropout=0.1, activation="relu",
                 norm_first=False, eps=1e-5):  # fmt: skip
        super().__init__()
        self.scale = d_model**0.5
        self.p = dropout
        self.layers = nn.ModuleList(
            LayerOfOwnParts(
                d_model, num_heads, d_ff, dropout, activation, norm_first, eps
            )
            for _ in range(num_layers)
        )
        self.embedding = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embedding.weight, std=1 / self.scale)
        self.positions = Waves(d_model, max_length)
        self.last = NormByVariance(d_model, eps) if norm_first else nn.Identity()

    def forward(self, ids, mask=None):
        x = self.positions(self.scale * F.embedding(ids, self.embedding.weight))
        x = F.dropout(x, self.p, self.training)
        for number in range(len(self.layers)):
            x = self.layers[number](x, mask)
        return self.last(x)


class EncoderWithSequential(EncoderOfReferenceLayers):
    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers,
                 max_length=512, dropout=0.1, activation="relu",
                 norm_first=False, eps=1e-5):  # fmt: skip
        rest = (dropout, activation, norm_first, eps)
        super().__init__(vocab_size, d_model, num_heads, d_ff, 0, max_length, *rest)
        self.layers = nn.ModuleList(
            [
                LayerWithSequential(d_model, num_heads, d_ff, *rest)
                for _ in range(num_layers)
            ]  # fmt: skip
        )


# --- 4.5 a test for layer norms ---


def probe_by_formula(norm):
    x = torch.randn(
        3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )
    x[1] = 3 + x[1] / 1e4
    variance = ((x - x.mean(1, keepdim=True)) ** 2).sum(1, keepdim=True) / 2
    expected = (x - x.mean(1, keepdim=True)) / (variance + 1e-5) ** 0.5
    return bool((norm(x) - expected).abs().max() < 1e-7)


def probe_by_numbers(norm):
    x = torch.tensor([[2.0, -1.0, 3.0, 0.0], [1e-3, -1e-3, 1e-3, -1e-3]]).double()
    small = 1e-3 / (1e-6 + 1e-5) ** 0.5
    big = 2.5 + 1e-5
    expected = torch.tensor([[1.0, -2.0, 2.0, -1.0], [small, -small, small, -small]])
    expected = expected.double()
    expected[0] /= big**0.5
    return torch.allclose(norm(x), expected, atol=1e-6)


def probe_row_by_row(norm):
    draw = torch.Generator().manual_seed(3)
    for scale in (1e-4, 1e-2, 1.0, 100.0):
        x = scale * torch.randn(3, 4, dtype=torch.float64, generator=draw) + 1
        for row, got in zip(x, norm(x), strict=True):
            if not torch.allclose(got, F.layer_norm(row, row.shape), rtol=0, atol=1e-8):
                return False
    return True


# --- 4.5b the tuple ---


def step_by_index(x, norm, attend):
    return x + attend(norm(x))[0]


def step_by_star(x, norm, attend):
    output, *_ = attend(norm(x))
    return torch.add(output, x)


def step_on_a_copy(x, norm, attend):
    y = x.clone()
    y += attend(norm(x))[0]
    return y


# --- 4.6 BERT's positions ---


class PositionsByIndex(nn.Module):
    def __init__(self, d_model, max_length, eps=1e-12):
        super().__init__()
        self.token_type = nn.Embedding(2, d_model)
        self.position = nn.Embedding(max_length, d_model)
        self.norm = nn.LayerNorm(d_model, eps)

    def forward(self, x):
        where = torch.arange(x.shape[1], device=x.device)
        kind = torch.zeros(x.shape[:2], dtype=torch.long)
        return self.norm(x + self.position(where) + self.token_type(kind))


class PositionsOfOwnNorm(nn.Module):
    def __init__(self, d_model, max_length, eps=1e-12):
        super().__init__()
        self.position, self.token_type = (
            nn.Embedding(size, d_model) for size in (max_length, 2)
        )
        self.norm = NormByVariance(d_model, eps)

    def forward(self, x):
        added = self.position.weight + self.token_type.weight[:1]
        return self.norm(added[None, : x.size(1)] + x)


class PositionsByLoop(nn.Module):
    def __init__(self, d_model, max_length, eps=1e-12):
        super().__init__()
        self.position = nn.Embedding(max_length, d_model)
        self.token_type = nn.Embedding(2, d_model)
        self.norm = NormByBessel(d_model, eps)

    def forward(self, x):
        kind = self.token_type(torch.tensor(0))
        rows = [
            self.norm(one + self.position.weight[place] + kind)
            for place, one in enumerate(x.unbind(1))
        ]
        return torch.stack(rows, 1)


# --- 4.6b BERT's weights ---


def copied(mine, theirs):
    with torch.no_grad():
        for name, value in theirs.named_parameters():
            mine.get_parameter(name).copy_(value)


def load_by_copying(encoder, bert):
    words = bert.embeddings.word_embeddings.weight.detach()
    encoder.embedding.weight.data = words.clone() / math.sqrt(words.shape[1])
    copied(encoder.positions.position, bert.embeddings.position_embeddings)
    copied(encoder.positions.token_type, bert.embeddings.token_type_embeddings)
    copied(encoder.positions.norm, bert.embeddings.LayerNorm)
    for n, theirs in enumerate(bert.encoder.layer):
        mine, attention = encoder.layers[n], theirs.attention
        mine.attention.copy_layers(
            W_q=attention.self.query,
            W_k=attention.self.key,
            W_v=attention.self.value,
            W_o=attention.output.dense,
        )
        copied(mine.norm1, attention.output.LayerNorm)
        copied(mine.feed_forward.W_1, theirs.intermediate.dense)
        copied(mine.feed_forward.W_2, theirs.output.dense)
        copied(mine.norm2, theirs.output.LayerNorm)
    return encoder


LAYER_NAMES = {
    "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "feed_forward.W_1",
    "output.dense": "feed_forward.W_2",
    "output.LayerNorm": "norm2",
    "attention.output.dense": "attention.W_o",
}


def load_by_names(encoder, bert):
    """Through the two state dicts, without `copy_layers`."""
    theirs, mine = bert.state_dict(), encoder.state_dict()
    words = theirs["embeddings.word_embeddings.weight"]
    mine["embedding.weight"] = words * words.shape[1] ** -0.5
    mine["positions.position.weight"] = theirs["embeddings.position_embeddings.weight"]
    mine["positions.token_type.weight"] = theirs[
        "embeddings.token_type_embeddings.weight"
    ]
    for kind in ("weight", "bias"):
        mine[f"positions.norm.{kind}"] = theirs[f"embeddings.LayerNorm.{kind}"]
        for n in range(len(encoder.layers)):
            here = f"encoder.layer.{n}"
            three = (
                f"{here}.attention.self.{p}.{kind}" for p in ("query", "key", "value")
            )
            fused = torch.cat([theirs[name] for name in three])
            mine[f"layers.{n}.attention.to_qkv.{kind}"] = fused
            for name, ours in LAYER_NAMES.items():
                mine[f"layers.{n}.{ours}.{kind}"] = theirs[f"{here}.{name}.{kind}"]
    encoder.load_state_dict(mine)
    return encoder


def load_by_sharing(encoder, bert):
    """The encoder takes BERT's own tensors where it can."""
    words = bert.embeddings.word_embeddings
    encoder.embedding.weight = nn.Parameter(words.weight / words.embedding_dim**0.5)
    encoder.positions.position.weight = bert.embeddings.position_embeddings.weight
    encoder.positions.token_type.weight = bert.embeddings.token_type_embeddings.weight
    pairs = [(encoder.positions.norm, bert.embeddings.LayerNorm)]
    for mine, theirs in zip(encoder.layers, bert.encoder.layer, strict=True):
        inside, after = theirs.attention.self, theirs.attention.output
        mine.attention.copy_layers(inside.query, inside.key, inside.value, after.dense)
        pairs += [(mine.norm1, after.LayerNorm), (mine.norm2, theirs.output.LayerNorm)]
        pairs += [(mine.feed_forward.W_1, theirs.intermediate.dense)]
        pairs += [(mine.feed_forward.W_2, theirs.output.dense)]
    for mine, theirs in pairs:
        mine.weight, mine.bias = theirs.weight, theirs.bias
    return encoder


# --- 4.6c both together ---


def sizes_of(bert):
    sizes = bert.config
    return (sizes.vocab_size, sizes.hidden_size, sizes.num_attention_heads,
            sizes.intermediate_size, sizes.num_hidden_layers,
            sizes.max_position_embeddings)  # fmt: skip


def bert_of_own_layers(bert):
    eps = bert.config.layer_norm_eps
    encoder = EncoderOfOwnLayers(*sizes_of(bert), activation="gelu", eps=eps)
    encoder.positions = PositionsOfOwnNorm(bert.config.hidden_size, 512, eps)
    encoder.positions.position = nn.Embedding(
        sizes_of(bert)[-1], bert.config.hidden_size
    )
    return load_by_copying(encoder, bert).eval()


def bert_of_reference_layers(bert):
    encoder = EncoderOfReferenceLayers(*sizes_of(bert), 0.0, "gelu", False, 1e-12)
    encoder.positions = PositionsByIndex(bert.config.hidden_size, sizes_of(bert)[-1])
    encoder.eval()
    return load_by_names(encoder, bert)


def bert_without_a_class(bert):
    """The layers of 4.3 behind BERT's own embeddings."""

    class Mine(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = EncoderOfReferenceLayers(
                *sizes_of(bert), activation="gelu", eps=1e-12
            )
            self.encoder.positions = PositionsByLoop(
                bert.config.hidden_size, sizes_of(bert)[-1]
            )
            load_by_sharing(self.encoder, bert)

        def forward(self, ids, mask):
            x = bert.embeddings(ids)
            for layer in self.encoder.layers:
                x = layer(x, mask)
            return x

    return Mine().eval()


# --- 4.7 gradients ---


def gradients_by_autograd(layers, loss_of, x):
    for layer in layers:
        x = layer(x)
    weights = [layer.feed_forward.W_1.weight for layer in layers]
    found = torch.autograd.grad(loss_of(x), weights)
    return torch.stack([gradient.square().sum().sqrt() for gradient in found])


def gradients_as_numbers(layers, loss_of, x):
    layers.zero_grad()
    loss_of(nn.Sequential(*layers)(x)).backward()
    return [layer.feed_forward.W_1.weight.grad.norm().item() for layer in layers]


def gradients_cleared_after(layers, loss_of, x):
    h = x
    for layer in layers:
        h = layer(h)
    loss_of(h).backward()
    norms = torch.tensor(
        [torch.linalg.norm(layer.feed_forward.W_1.weight.grad) for layer in layers]
    )
    for value in layers.parameters():
        value.grad = None
    return norms.double()


# --- 4.8 mean of the real tokens ---


def mean_by_loop(hidden, real):
    return torch.stack(
        [one[some].mean(0) for one, some in zip(hidden, real, strict=True)]
    )


def mean_by_filling(hidden, real):
    kept = hidden.masked_fill(~real[:, :, None], 0.0)
    return kept.sum(dim=1) / real.sum(dim=1)[:, None]


def mean_by_einsum(hidden, real):
    share = real.to(hidden.dtype)
    share = share / share.sum(1, keepdim=True)
    return torch.einsum("bt,btd->bd", share, hidden)


VARIANTS = {
    "4.1": (FeedForwardByHand, FeedForwardOfModules, FeedForwardInPlace),
    "4.2": (NormByVariance, NormByBessel, NormByLoops),
    "4.3": (LayerOfTorchNorms, LayerOfOwnParts, LayerWithSequential),
    "4.4": (EncoderOfReferenceLayers, EncoderOfOwnLayers, EncoderWithSequential),
    "4.5": (probe_by_formula, probe_by_numbers, probe_row_by_row),
    "4.5b": (step_by_index, step_by_star, step_on_a_copy),
    "4.6": (PositionsByIndex, PositionsOfOwnNorm, PositionsByLoop),
    "4.6b": (load_by_copying, load_by_names, load_by_sharing),
    "4.6c": (bert_of_own_layers, bert_of_reference_layers, bert_without_a_class),
    "4.7": (gradients_by_autograd, gradients_as_numbers, gradients_cleared_after),
    "4.8": (mean_by_loop, mean_by_filling, mean_by_einsum),
}
