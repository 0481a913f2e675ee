"""Independent solutions to 4.F, 4.G, 4.H."""

import copy
import math

import torch
from torch import nn

from helpers.exercises.encoder.variants.shared import (
    EncoderOfOwnLayers,
    EncoderOfReferenceLayers,
    NormByBessel,
    NormByVariance,
)


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


def load_new_parameters(encoder, bert):
    """The encoder gets new parameters and tables, with copies of BERT's numbers."""
    words = bert.embeddings.word_embeddings
    encoder.embedding.weight = nn.Parameter(words.weight / words.embedding_dim**0.5)
    positions = bert.embeddings.position_embeddings.weight.detach()
    encoder.positions.position.weight = nn.Parameter(positions.clone())
    encoder.positions.token_type = copy.deepcopy(bert.embeddings.token_type_embeddings)
    pairs = [(encoder.positions.norm, bert.embeddings.LayerNorm)]
    for mine, theirs in zip(encoder.layers, bert.encoder.layer, strict=True):
        inside, after = theirs.attention.self, theirs.attention.output
        mine.attention.copy_layers(inside.query, inside.key, inside.value, after.dense)
        pairs += [(mine.norm1, after.LayerNorm), (mine.norm2, theirs.output.LayerNorm)]
        pairs += [(mine.feed_forward.W_1, theirs.intermediate.dense)]
        pairs += [(mine.feed_forward.W_2, theirs.output.dense)]
    for mine, theirs in pairs:
        mine.weight = nn.Parameter(theirs.weight.detach().clone())
        mine.bias = nn.Parameter(theirs.bias.detach().clone())
    return encoder


def load_by_the_width(encoder, bert):
    """The root of the encoder's own d_model, which the stub of 4.E sets."""
    load_by_copying(encoder, bert)
    words = bert.embeddings.word_embeddings.weight.detach()
    encoder.embedding.weight.data = words / encoder.d_model**0.5
    return encoder


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
    """The layers of 4.D behind copies of BERT's tables."""

    class Mine(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = EncoderOfReferenceLayers(
                *sizes_of(bert), activation="gelu", eps=1e-12
            )
            self.encoder.positions = PositionsByLoop(
                bert.config.hidden_size, sizes_of(bert)[-1]
            )
            load_new_parameters(self.encoder, bert)
            self.words = nn.Embedding(*bert.embeddings.word_embeddings.weight.shape)
            self.words.load_state_dict(bert.embeddings.word_embeddings.state_dict())

        def forward(self, ids, mask):
            x = self.encoder.positions(self.words(ids))
            for layer in self.encoder.layers:
                x = layer(x, mask)
            return x

    return Mine().eval()


VARIANTS = {
    "4.F": (PositionsByIndex, PositionsOfOwnNorm, PositionsByLoop),
    "4.G": (load_by_copying, load_by_names, load_new_parameters, load_by_the_width),
    "4.H": (bert_of_own_layers, bert_of_reference_layers, bert_without_a_class),
}
