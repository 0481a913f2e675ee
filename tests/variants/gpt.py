"""Lesson 10 in other hands: loops, einsum, state dicts, fused and separate layers."""

import math
from collections import Counter, defaultdict

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from helpers.models.gpt import GPTBlock as CourseBlock
from helpers.models.layers import FeedForward, add_and_norm
from helpers.models.multi_head import MultiHeadAttention

# --- 10.1 the block ---


class BlockByHelpers(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, "gelu_tanh")
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        length = x.size(1)
        places = torch.arange(length)
        mask = places[None, :] <= places[:, None]
        x = add_and_norm(
            x, lambda y: self.attention(y, y, y, mask), self.norm1, self.drop, True
        )
        return add_and_norm(x, self.feed_forward, self.norm2, self.drop, True)


class BlockWithBatchMask(nn.Module):
    """The mask with all four axes, dropout as a function."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.p = dropout
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, "gelu_tanh")

    def forward(self, x):
        batch, length, _ = x.shape
        mask = ~torch.ones(batch, 1, length, length, dtype=torch.bool).triu(1)
        y = self.norm1(x)
        found = self.attention(query=y, key=y, value=y, mask=mask)
        out = x + F.dropout(found, self.p, self.training)
        thought = self.feed_forward(self.norm2(out))
        return torch.add(out, F.dropout(thought, self.p, self.training))


class BlockTokenByToken(nn.Module):
    """Each token asks the tokens up to itself: no mask at all."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, "gelu_tanh")
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        y = self.norm1(x)
        rows = [
            self.attention(y[:, t : t + 1], y[:, : t + 1], y[:, : t + 1])
            for t in range(x.shape[1])
        ]
        x = x + self.dropout(torch.cat(rows, 1))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


# --- 10.2 the model ---


class _Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = nn.Embedding(config.max_length, config.d_model)
        self.norm = nn.LayerNorm(config.d_model)
        self.layers = nn.ModuleList()
        for _ in range(config.num_layers):
            self.layers.append(
                CourseBlock(
                    config.d_model, config.num_heads, config.d_ff, config.dropout
                )
            )
        self.dropout = nn.Dropout(config.dropout)

    def vectors(self, ids):
        x = self.embedding(ids) + self.positions.weight[: ids.shape[1]]
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class ModelByLinear(_Model):
    def forward(self, ids):
        return F.linear(self.vectors(ids), self.embedding.weight)


class ModelByEinsum(_Model):
    def forward(self, ids):
        return torch.einsum("btd,vd->btv", self.vectors(ids), self.embedding.weight)


class ModelWithTiedHead(_Model):
    """The scoring layer is a module of its own, its weight is the table."""

    def __init__(self, config):
        super().__init__(config)
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        return self.head(self.vectors(ids))


class ModelWithTiedTable(_Model):
    """Tied the other way round: the table takes the layer's weight."""

    def __init__(self, config):
        super().__init__(config)
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.embedding.weight = self.head.weight

    def forward(self, ids):
        return self.head(self.vectors(ids))


class ModelBySequential(_Model):
    def forward(self, ids):
        places = torch.arange(ids.shape[-1], device=ids.device).expand_as(ids)
        x = self.dropout(self.embedding(ids) + self.positions(places))
        x = nn.Sequential(*self.layers, self.norm)(x)
        return x.matmul(self.embedding.weight.t())


# --- 10.3 the loss ---


def loss_by_flattening(logits, ids):
    vocab = logits.shape[-1]
    return F.cross_entropy(logits[:, :-1].reshape(-1, vocab), ids[:, 1:].reshape(-1))


def loss_by_hand(logits, ids):
    log = logits.log_softmax(-1)[:, :-1]
    return -log.gather(-1, ids[:, 1:, None]).mean()


def loss_by_ignoring(logits, ids):
    """The last place is kept, and its label is one that does not count."""
    labels = ids.roll(-1, 1)
    labels[:, -1] = -100
    return nn.CrossEntropyLoss()(logits.mT, labels)


def loss_by_loops(logits, ids):
    total, count = 0.0, 0
    for scores, text in zip(logits, ids, strict=True):
        for place in range(len(text) - 1):
            row = scores[place]
            total = total + torch.logsumexp(row, 0) - row[text[place + 1]]
            count += 1
    return total / count


# --- 10.4 byte pairs ---


def pair_by_counter(words):
    counts = Counter()
    for word, times in words.items():
        for left, right in zip(word, word[1:], strict=False):
            counts[left, right] += times
    return counts.most_common(1)[0][0]


def pair_by_loops(words):
    counts = defaultdict(int)
    for word in words:
        for place in range(len(word) - 1):
            counts[word[place], word[place + 1]] += words[word]
    best = None
    for pair, count in counts.items():
        if best is None or count > counts[best]:
            best = pair
    return best


def pair_as_a_list(words):
    pairs, counts = [], []
    for word, times in words.items():
        for pair in zip(word[:-1], word[1:], strict=True):
            if pair not in pairs:
                pairs.append(pair)
                counts.append(0)
            counts[pairs.index(pair)] += times
    return list(pairs[int(np.argmax(counts))])


def merge_by_places(word, pair):
    result, place = [], 0
    while place < len(word):
        if list(word[place : place + 2]) == list(pair):
            result += ["".join(pair)]
            place += 2
        else:
            result += [word[place]]
            place += 1
    return result


def merge_by_recursion(word, pair):
    if len(word) < 2:
        return tuple(word)
    if (word[0], word[1]) == tuple(pair):
        return (word[0] + word[1], *merge_by_recursion(word[2:], pair))
    return (word[0], *merge_by_recursion(word[1:], pair))


def merge_by_iterator(word, pair):
    left, right = pair
    result = []
    for symbol in word:
        if result and result[-1] == left and symbol == right:
            result[-1] = left + right
        else:
            result.append(symbol)
    return tuple(result)


# --- 10.5 the cache ---


def _heads(x, layer):
    batch, length, width = x.shape
    return x.view(batch, length, layer.num_heads, -1).transpose(1, 2)


def attend_by_scores(layer, x, past):
    """Scores, mask and softmax written out."""
    query, key, value = (_heads(part, layer) for part in layer.to_qkv(x).split(
        x.shape[-1], dim=-1
    ))  # fmt: skip
    before = 0
    if past:
        before = past[0].size(2)
        key, value = torch.cat((past[0], key), -2), torch.cat((past[1], value), -2)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    queries = before + torch.arange(x.shape[1])
    later = torch.arange(key.shape[2])[None] > queries[:, None]
    weights = scores.masked_fill(later, -math.inf).softmax(-1)
    return layer.W_o((weights @ value).transpose(1, 2).flatten(2)), (key, value)


def attend_by_rows(layer, x, past):
    """One new token after the other."""
    outputs = []
    for place in range(x.shape[1]):
        part = layer.to_qkv(x[:, place : place + 1]).chunk(3, -1)
        query, key, value = (_heads(one, layer) for one in part)
        if past is not None:
            key = torch.cat([past[0], key], 2)
            value = torch.cat([past[1], value], 2)
        past = key, value
        mixed = F.scaled_dot_product_attention(query, key, value)
        outputs.append(layer.W_o(mixed.transpose(1, 2).flatten(2)))
    return torch.cat(outputs, 1), list(past)


def attend_by_blocks(layer, x, past):
    """The mask is glued together: all of the past, a triangle of the new ones."""
    query, key, value = (_heads(part, layer) for part in layer.to_qkv(x).chunk(3, -1))
    new = x.shape[1]
    mask = torch.ones(new, new, dtype=torch.bool).tril()
    if past is not None:
        everything = torch.ones(new, past[0].shape[2], dtype=torch.bool)
        mask = torch.cat([everything, mask], 1)
        key, value = (torch.cat(two, 2) for two in zip(past, (key, value), strict=True))
    mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return layer.W_o(mixed.transpose(1, 2).flatten(2)), (key, value)


def read_by_rows(model, ids, past):
    """Positions cut out of the table, the past as tuples."""
    begin = past[0][1].size(-2) if past is not None else 0
    x = model.embedding(ids) + model.positions.weight[begin : begin + ids.size(1)]
    pairs = ()
    for place, block in enumerate(model.layers):
        one = past[place] if past is not None else None
        out, pair = attend_by_scores(block.attention, block.norm1(x), one)
        x = x + out
        x = x + block.feed_forward(block.norm2(x))
        pairs += (pair,)
    return F.linear(model.norm(x), model.embedding.weight), pairs


def read_token_by_token(model, ids, past):
    logits = []
    for place in range(ids.shape[1]):
        row, past = read_by_rows(model, ids[:, place : place + 1], past)
        logits.append(row)
    return torch.cat(logits, 1), past


def read_in_a_list(model, ids, past):
    old = [None] * len(model.layers) if past is None else list(past)
    start = 0 if old[0] is None else old[0][0].shape[2]
    x = model.embedding(ids)
    x = x + model.positions(torch.arange(ids.shape[1]) + start)[None]
    for place in range(len(model.layers)):
        block = model.layers[place]
        out, old[place] = attend_by_blocks(block.attention, block.norm1(x), old[place])
        x = x + out
        x = x + block.feed_forward(block.norm2(x))
    return torch.einsum("btd,vd->btv", model.norm(x), model.embedding.weight), old


# --- 10.6 GPT-2's weights ---

NAMES = {
    "norm1": "ln_1",
    "attention.to_qkv": "attn.c_attn",
    "attention.W_o": "attn.c_proj",
    "norm2": "ln_2",
    "feed_forward.W_1": "mlp.c_fc",
    "feed_forward.W_2": "mlp.c_proj",
}


def load_by_state_dict(mine, theirs):
    their = theirs.state_dict()
    state = {
        "embedding.weight": their["transformer.wte.weight"],
        "positions.weight": their["transformer.wpe.weight"],
    }
    for kind in ("weight", "bias"):
        state[f"norm.{kind}"] = their[f"transformer.ln_f.{kind}"]
        for number in range(len(mine.layers)):
            for ours, name in NAMES.items():
                value = their[f"transformer.h.{number}.{name}.{kind}"]
                turn = kind == "weight" and "norm" not in ours
                state[f"layers.{number}.{ours}.{kind}"] = value.T if turn else value
    mine.load_state_dict(state)
    return mine


def load_by_names(mine, theirs):
    with torch.no_grad():
        for ours, name in (
            ("embedding", "wte"),
            ("positions", "wpe"),
            ("norm", "ln_f"),
        ):
            source = getattr(theirs.transformer, name)
            getattr(mine, ours).load_state_dict(source.state_dict())
        for block, other in zip(mine.layers, theirs.transformer.h, strict=True):
            for ours, name in NAMES.items():
                target, source = block.get_submodule(ours), other.get_submodule(name)
                linear = isinstance(target, nn.Linear)
                target.weight[:] = source.weight.t() if linear else source.weight
                target.bias[:] = source.bias
    return mine


def load_by_data(mine, theirs):
    body = theirs.transformer
    mine.embedding.weight.data = body.wte.weight.detach().clone()
    mine.positions.weight.data = body.wpe.weight.detach().clone()
    mine.norm.weight.data = body.ln_f.weight.detach().clone()
    mine.norm.bias.data = body.ln_f.bias.detach().clone()
    for place in range(len(mine.layers)):
        for ours, name in NAMES.items():
            target = mine.layers[place].get_submodule(ours)
            source = body.h[place].get_submodule(name)
            weight = source.weight.detach().clone()
            turned = weight.T.contiguous() if "norm" not in ours else weight
            target.weight.data, target.bias.data = turned, source.bias.detach().clone()
    return mine


# --- 10.7 two heads ---


def previous_by_index(weights):
    length = weights.shape[-1]
    rows = torch.arange(1, length)
    return weights[:, :, rows, rows - 1].mean(-1).mean(0)


def previous_by_loops(weights):
    batch, heads, length, _ = weights.shape
    total = weights.new_zeros(heads)
    for text in range(batch):
        for row in range(1, length):
            total += weights[text, :, row, row - 1]
    return total / (batch * (length - 1))


def previous_by_trace(weights):
    cut = weights[:, :, 1:, :-1]  # the diagonal of this is the one below
    return torch.einsum("bhtt->h", cut) / (cut.shape[0] * cut.shape[-1])


def lookup_by_loops(weights, ids, pairs):
    heads = weights.new_zeros(weights.shape[1])
    for text, row in enumerate(ids.tolist()):
        for query in range(2 * pairs, 3 * pairs):
            answer = row.index(row[query]) + 1
            heads = heads + weights[text, :, query, answer]
    return heads / (len(ids) * pairs)


def lookup_by_a_mask(weights, ids, pairs):
    hit = torch.zeros(len(ids), weights.shape[-1], weights.shape[-1], dtype=torch.bool)
    hit[:, :, 1:] = ids[:, :, None] == ids[:, None, :-1]  # behind the same id
    hit[:, : 2 * pairs] = False
    hit[:, :, 2 * pairs :] = False
    chosen = weights * hit[:, None]
    return chosen.sum((0, 2, 3)) / hit.sum()


def lookup_by_one_hot(weights, ids, pairs):
    keys, asked = ids[:, 0 : 2 * pairs : 2], ids[:, 2 * pairs :]
    same = (asked[:, :, None] == keys[:, None]).to(weights.dtype)  # (B, query, pair)
    values = weights[:, :, 2 * pairs :, 1 : 2 * pairs : 2]  # (B, H, query, pair)
    return torch.einsum("bhqp,bqp->h", values, same) / same.sum()


VARIANTS = {
    "10.1": (BlockByHelpers, BlockWithBatchMask, BlockTokenByToken),
    "10.2": (
        ModelByLinear,
        ModelByEinsum,
        ModelWithTiedHead,
        ModelWithTiedTable,
        ModelBySequential,
    ),
    "10.3": (loss_by_flattening, loss_by_hand, loss_by_ignoring, loss_by_loops),
    "10.4": (
        (pair_by_counter, merge_by_places),
        (pair_by_loops, merge_by_recursion),
        (pair_as_a_list, merge_by_iterator),
    ),
    "10.5": (
        (attend_by_scores, read_by_rows),
        (attend_by_rows, read_token_by_token),
        (attend_by_blocks, read_in_a_list),
    ),
    "10.6": (load_by_state_dict, load_by_names, load_by_data),
    "10.7": (
        (previous_by_index, lookup_by_loops),
        (previous_by_loops, lookup_by_a_mask),
        (previous_by_trace, lookup_by_one_hot),
    ),
}
