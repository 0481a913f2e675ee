"""Independent solutions to 5.B."""

import torch.nn.functional as F
from torch import nn

from helpers.models import transformer as course
from helpers.models.positions import PositionalEncoding, TokenEmbedding


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
        activation="relu",
        norm_first=False,
    ):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            sizes = (d_model, num_heads, d_ff)
            options = {"dropout": dropout, "activation": activation}
            one = course.DecoderLayer(*sizes, norm_first=norm_first, **options)
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


VARIANTS = {
    "5.B": (DecoderByIndex, DecoderByNames, DecoderWithTable, DecoderInSequence),
}
