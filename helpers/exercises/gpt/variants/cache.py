"""Independent solutions to 10.H."""

import math

import torch
import torch.nn.functional as F


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


VARIANTS = {
    "10.H": (
        (attend_by_scores, read_by_rows),
        (attend_by_rows, read_token_by_token),
        (attend_by_blocks, read_in_a_list),
    ),
}
