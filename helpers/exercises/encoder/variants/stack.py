"""Independent solutions to 4.E."""

from torch import nn

from helpers.exercises.encoder.variants.shared import (
    EncoderOfOwnLayers,
    EncoderOfReferenceLayers,
    LayerWithSequential,
)


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


VARIANTS = {
    "4.E": (EncoderOfReferenceLayers, EncoderOfOwnLayers, EncoderWithSequential),
}
