"""Independent solutions to 12.G."""

from torch import nn

from helpers.exercises.modern.feed_forward import SwiGLU
from helpers.exercises.modern.model import ModernBlock
from helpers.exercises.modern.variants.attention import SharedByAxis
from helpers.exercises.modern.variants.norm import NormByTorch


class _OwnBlock(nn.Module):
    """As the lesson's block, of other parts."""

    def __init__(self, config):
        super().__init__()
        self.norm1, self.norm2 = (
            NormByTorch(config.d_model, config.eps) for _ in range(2)
        )
        self.attention = SharedByAxis(config)
        self.feed_forward = SwiGLU(config.d_model, config.d_ff)

    def forward(self, x, past=None, mask=None):
        found, pair = self.attention(self.norm1(x), past, mask)
        between = x + found
        return between + self.feed_forward(self.norm2(between)), pair


class _Model(nn.Module):
    block = ModernBlock

    def __init__(self, config):
        super().__init__()
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.norm = NormByTorch(config.d_model, config.eps)
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.layers = nn.ModuleList()
        for _ in range(config.num_layers):
            self.layers.append(self.block(config))


class ModelByZip(_Model):
    def forward(self, ids, past=None, mask=None):
        x, new = self.embedding(ids), []
        for layer, pair in zip(
            self.layers, past or [None] * len(self.layers), strict=True
        ):
            x, pair = layer(x, pair, mask)
            new.append(pair)
        return self.output(self.norm(x)), new


class ModelOfOwnBlocks(ModelByZip):
    block = _OwnBlock


class ModelByRows(_Model):
    """Rows of the table and scores by hand; the pairs in a tuple."""

    def forward(self, ids, past=None, mask=None):
        x, new = self.embedding.weight[ids], ()
        for number in range(len(self.layers)):
            before = past[number] if past is not None else None
            x, pair = self.layers[number](x, before, mask)
            new += (pair,)
        return self.norm(x) @ self.output.weight.mT, new


VARIANTS = {"12.G": (ModelByZip, ModelOfOwnBlocks, ModelByRows)}
