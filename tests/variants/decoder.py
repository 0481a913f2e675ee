"""Lesson 05 in other hands: loops over sublayers, lists, torch's own counting."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.models import transformer as course
from helpers.models.encoder import Encoder
from helpers.models.layers import FeedForward
from helpers.models.multi_head import MultiHeadAttention
from helpers.models.positions import PositionalEncoding, TokenEmbedding

# --- 5.1 the decoder layer ---


class _Parts(nn.Module):
    """The six parts, created in another order than the stub's."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, norm_first=False):
        super().__init__()
        self.norm3 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.rate, self.norm_first = dropout, norm_first


class LayerByCases(_Parts):
    def forward(self, x, memory, target_mask, source_mask=None):
        def drop(y):
            return F.dropout(y, self.rate, self.training)

        if self.norm_first:
            y = self.norm1(x)
            x = x + drop(self.self_attention(y, y, y, target_mask))
            y = self.norm2(x)
            x = x + drop(self.cross_attention(y, memory, memory, source_mask))
            return x + drop(self.feed_forward(self.norm3(x)))
        x = self.norm1(x + drop(self.self_attention(x, x, x, target_mask)))
        y = self.cross_attention(x, memory, memory, source_mask)
        x = self.norm2(x + drop(y))
        return self.norm3(x + drop(self.feed_forward(x)))


class LayerByLoop(_Parts):
    def forward(self, x, memory, target_mask, source_mask=None):
        drop = nn.Dropout(self.rate).train(self.training)
        steps = [
            (self.norm1, lambda y: self.self_attention(y, y, y, mask=target_mask)),
            (
                self.norm2,
                lambda y: self.cross_attention(
                    query=y, key=memory, value=memory, mask=source_mask
                ),
            ),
            (self.norm3, self.feed_forward),
        ]
        for norm, step in steps:
            added = drop(step(norm(x) if self.norm_first else x))
            x = x + added
            x = x if self.norm_first else norm(x)
        return x


class LayerThatFillsInMasks(_Parts):
    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.drop = nn.Dropout(self.rate)

    def forward(self, x, memory, target_mask=None, source_mask=None):
        batch, length = x.shape[:2]
        if target_mask is None:
            target_mask = x.new_ones(length, length, dtype=torch.bool)
        if source_mask is None:
            source_mask = x.new_ones(batch, 1, 1, memory.shape[1], dtype=torch.bool)
        before = [n if self.norm_first else nn.Identity() for n in self.norms()]
        after = [nn.Identity() if self.norm_first else n for n in self.norms()]
        y = before[0](x)
        output, _ = self.self_attention(y, y, y, target_mask, need_weights=True)
        x = after[0](self.drop(output).add(x))
        output, _ = self.cross_attention(
            before[1](x), memory, memory, source_mask, need_weights=True
        )
        x = after[1](self.drop(output).add(x))
        return after[2](self.drop(self.feed_forward(before[2](x))).add(x))

    def norms(self):
        return self.norm1, self.norm2, self.norm3


class OwnNorm(nn.Module):
    """Layer norm by the formula, with another epsilon."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        spread = (centred.square().mean(-1, keepdim=True) + 1e-6).sqrt()
        return self.weight * centred / spread + self.bias


class LayerWithOwnNorms(LayerByCases):
    def __init__(self, d_model, *sizes, **options):
        super().__init__(d_model, *sizes, **options)
        self.norm1, self.norm2 = OwnNorm(d_model), OwnNorm(d_model)
        self.norm3 = OwnNorm(d_model)


# --- 5.2 the decoder ---


class DecoderByIndex(nn.Module):
    def __init__(
        self,
        vocab_size,
        d_model,
        num_heads,
        d_ff,
        num_layers,
        max_length=512,
        dropout=0.1,
        norm_first=False,
    ):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            sizes = (d_model, num_heads, d_ff)
            one = course.DecoderLayer(*sizes, dropout=dropout, norm_first=norm_first)
            self.layers.append(one)
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.positions = PositionalEncoding(d_model, max_length)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids, memory, target_mask, source_mask=None):
        x = self.embedding(ids)
        x = self.dropout(self.positions(x))
        for place in range(len(self.layers)):
            x = self.layers[place](x, memory, target_mask, source_mask)
        return self.norm(x)


class DecoderByNames(DecoderByIndex):
    def forward(self, ids, memory, target_mask, source_mask=None):
        def climb(x, layers):
            if not layers:
                return self.norm(x)
            x = layers[0](x=x, memory=memory, target_mask=target_mask, **more)
            return climb(x, layers[1:])

        more = {"source_mask": source_mask}
        start = self.positions(self.embedding(ids))
        return climb(self.dropout(start), list(self.layers))


class DecoderWithTable(DecoderByIndex):
    def forward(self, ids, memory, target_mask, source_mask=None):
        words = F.embedding(ids, self.embedding.table.weight) * self.embedding.scale
        x = words + self.positions.table[: ids.shape[1]].to(words)
        x = F.dropout(x, self.dropout.p, self.training)
        for layer in self.layers:
            x = layer(x, memory, target_mask, source_mask)
        return self.norm(x)


class DecoderInSequence(DecoderByIndex):
    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.layers = nn.Sequential(*self.layers)


# --- 5.3 the Transformer ---


class TransformerByMatrix(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.final_layer = nn.Linear(config.d_model, config.target_vocab)
        self.decoder = course.Decoder(config.target_vocab, *config.stack)
        self.encoder = Encoder(config.source_vocab, *config.stack)

    def encode(self, source, source_mask=None):
        return self.encoder(source, mask=source_mask)

    def decode(self, target, memory, target_mask, source_mask=None):
        x = self.decoder(target, memory, target_mask, source_mask)
        return x @ self.final_layer.weight.T + self.final_layer.bias

    def forward(self, source, target, source_mask, target_mask):
        memory = self.encode(source, source_mask)
        return self.decode(target, memory, target_mask, source_mask)


class TransformerInOneLine(TransformerByMatrix):
    def decode(self, target, memory, target_mask, source_mask=None):
        masks = {"source_mask": source_mask, "target_mask": target_mask}
        return self.final_layer(self.decoder(target, memory, **masks))

    def forward(self, source, target, source_mask=None, target_mask=None):
        return self.decode(
            target, self.encode(source, source_mask), target_mask, source_mask
        )


class TransformerWithoutItsMethods(TransformerInOneLine):
    def forward(self, source, target, source_mask, target_mask):
        memory = self.encoder(source, source_mask)
        x = self.decoder(target, memory, target_mask, source_mask)
        return F.linear(x, self.final_layer.weight, self.final_layer.bias)


# --- 5.4 counting ---


def count_by_building(config) -> int:
    model = course.Transformer(config)
    return sum(math.prod(value.shape) for value in model.parameters())


def count_by_boxes(config) -> int:
    def linear(size, out):
        return size * out + out

    d, norm = config.d_model, 2 * config.d_model
    attention = sum(linear(d, d) for _ in "qkvo")
    think = linear(d, config.d_ff) + linear(config.d_ff, d)
    total = 0
    for _ in range(config.num_layers):
        total += attention + norm + think + norm
        total += attention + norm + attention + norm + think + norm
    total += config.source_vocab * d + config.target_vocab * d
    return total + linear(d, config.target_vocab)


def count_multiplied_out(config) -> Tensor:
    d, f, n = config.d_model, config.d_ff, config.num_layers
    layers = n * (12 * d**2 + 24 * d + 4 * d * f + 2 * f)
    words = config.source_vocab * d + config.target_vocab * (2 * d + 1)
    return torch.tensor(layers + words)


# --- 5.5 greedy decoding ---


@torch.no_grad()
def greedy_in_a_table(model, source, source_mask, start, end, max_new_tokens):
    memory = model.encode(source, source_mask)
    table = torch.zeros(len(source), 1 + max_new_tokens, dtype=torch.long)
    table[:, 0] = start
    running = torch.ones(len(source), dtype=torch.bool)
    for place in range(1, 1 + max_new_tokens):
        mask = torch.ones(place, place, dtype=torch.bool).tril()
        scores = model.decode(table[:, :place], memory, mask, source_mask)
        best = scores[:, place - 1].topk(1).indices.squeeze(-1)
        table[running, place] = best[running]
        running &= best != end
        if not running.any():
            return table[:, : place + 1]
    return table


def greedy_by_lists(model, source, source_mask, start, end, max_new_tokens):
    memory = model.encode(source, source_mask)
    rows = [[start] for _ in source]
    while len(rows[0]) <= max_new_tokens and not all(end in row[1:] for row in rows):
        ids = torch.tensor(rows)
        mask = course.look_ahead_mask(ids.shape[1])[None, None]
        scores = model.decode(ids, memory, mask, source_mask)
        for row, score in zip(rows, scores, strict=True):
            row.append(0 if end in row[1:] else int(score[-1].argmax()))
    return torch.tensor(rows)


def greedy_with_lengths(model, source, source_mask, start, end, max_new_tokens):
    memory = model.encode(source, source_mask)
    ids = source.new_full((source.shape[0], 1), start)
    done = torch.zeros(source.shape[0], 1, dtype=torch.bool)
    while ids.shape[1] < 1 + max_new_tokens and not bool(done.all()):
        mask = course.look_ahead_mask(ids.shape[1])
        logits = model.decode(ids, memory, mask, source_mask).log_softmax(-1)
        following = logits[:, [-1]].argmax(-1) * ~done
        ids = torch.hstack([ids, following])
        done = done | following.eq(end)
    return ids


def greedy_one_by_one(model, source, source_mask, start, end, max_new_tokens):
    rows = []
    for place in range(len(source)):
        mask = None if source_mask is None else source_mask[[place]]
        memory, row = model.encode(source[[place]], mask), [start]
        while len(row) <= max_new_tokens and end not in row:
            ids = torch.tensor([row])
            future = course.look_ahead_mask(len(row))
            row.append(model.decode(ids, memory, future, mask)[0, -1].argmax().item())
        rows.append(torch.tensor(row))
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


# --- 5.6b mass on padding ---


def mass_by_loops(weights, source_mask) -> float:
    total, count = 0.0, 0
    for sequence, mask in zip(weights, source_mask, strict=True):
        for row in sequence.flatten(0, 1):
            count += 1
            total += row[~mask.flatten()].sum().item()
    return total / count


def mass_of_the_rest(weights, source_mask) -> Tensor:
    return 1 - (weights * source_mask).sum(-1).mean()


def mass_by_einsum(weights, source_mask) -> float:
    padding = (~source_mask[:, 0, 0]).to(weights.dtype)
    return torch.einsum("bhts,bs->bht", weights, padding).mean().item()


# --- 5.6c a test for the wrong side ---


def reads_by_two_facts(layer) -> bool:
    draw = torch.Generator().manual_seed(1)
    x, one, other = (torch.randn(3, 6, 8, generator=draw) for _ in range(3))
    changed = (layer(x, one) - layer(x, other)).abs().max() > 1e-3
    turned = (layer(x, one) - layer(x, one.roll(1, 1))).abs().max() < 1e-4
    return bool(changed and turned)


def reads_in_double(layer) -> bool:
    draw = torch.Generator().manual_seed(2)
    size = {"generator": draw, "dtype": torch.float64}
    x, memory = torch.randn(1, 7, 8, **size), torch.randn(1, 7, 8, **size)
    order = torch.randperm(7, generator=draw)
    same = torch.allclose(layer(x, memory), layer(x, memory[:, order]), atol=1e-9)
    return same and not torch.allclose(layer(x, memory), layer(x, -memory))


def reads_by_repeating(layer) -> bool:
    """If every word of memory stands there twice as often, nothing changes."""
    draw = torch.Generator().manual_seed(3)
    x, half = (torch.randn(2, n, 8, generator=draw) for n in (6, 3))
    together, apart = torch.cat([half, half], 1), half.repeat_interleave(2, 1)
    close = torch.allclose(layer(x, together), layer(x, apart), atol=1e-5)
    return close and not torch.allclose(layer(x, together), layer(x, 2 * together))


VARIANTS = {
    "5.1": (LayerByCases, LayerByLoop, LayerThatFillsInMasks, LayerWithOwnNorms),
    "5.2": (DecoderByIndex, DecoderByNames, DecoderWithTable, DecoderInSequence),
    "5.3": (TransformerByMatrix, TransformerInOneLine, TransformerWithoutItsMethods),
    "5.4": (count_by_building, count_by_boxes, count_multiplied_out),
    "5.5": (greedy_in_a_table, greedy_by_lists, greedy_with_lengths, greedy_one_by_one),
    "5.6b": (mass_by_loops, mass_of_the_rest, mass_by_einsum),
    "5.6c": (reads_by_two_facts, reads_in_double, reads_by_repeating),
}
