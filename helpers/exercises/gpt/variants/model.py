"""Independent solutions to 10.B."""

import torch
import torch.nn.functional as F
from torch import nn

from helpers.exercises.gpt.variants.block import BlockByHelpers, BlockWithBatchMask
from helpers.models.gpt import GPTBlock as CourseBlock


class _Model(nn.Module):
    block = CourseBlock

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = nn.Embedding(config.max_length, config.d_model)
        self.norm = nn.LayerNorm(config.d_model)
        self.layers = nn.ModuleList()
        for _ in range(config.num_layers):
            self.layers.append(
                self.block(
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


class ModelOfOwnBlocks(ModelByLinear):
    """The student's own 10.A, which drops nothing in its attention."""

    block = BlockByHelpers


class ModelOfBlocksWithoutModules(ModelByLinear):
    """Blocks that drop by a function and keep their rate as a number."""

    block = BlockWithBatchMask


VARIANTS = {
    "10.B": (
        ModelOfOwnBlocks,
        ModelOfBlocksWithoutModules,
        ModelByLinear,
        ModelByEinsum,
        ModelWithTiedHead,
        ModelWithTiedTable,
        ModelBySequential,
    ),
}
