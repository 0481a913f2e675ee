"""BERT's masked language model: a head that predicts words, on top of an encoder."""

import torch.nn.functional as F
from torch import Tensor, nn

from helpers.models.encoder import Encoder


class MaskedLanguageHead(nn.Module):
    """From vectors in context to a score for every word.

    decoder(norm(gelu(dense(hidden))))

    Args:
        d_model: width of the vectors
        vocab_size: V

    Source: Devlin et al. 2019 (arXiv 1810.04805), section 3.1, and their code.
    """

    def __init__(self, d_model: int, vocab_size: int) -> None:
        super().__init__()
        self.dense = nn.Linear(d_model, d_model)
        self.norm = nn.LayerNorm(d_model, eps=1e-12)
        self.decoder = nn.Linear(d_model, vocab_size)

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., D) -> logits (..., V)."""
        return self.decoder(self.norm(F.gelu(self.dense(hidden))))


class Tied(nn.Module):
    """The last layer of a head, whose matrix is the embedding table.

    Our `Encoder` multiplies rows by sqrt(d_model) when it reads, so this one does too.

    Args:
        table: (V, D)
        bias: (V,)
    """

    def __init__(self, table: nn.Parameter, bias: nn.Parameter) -> None:
        super().__init__()
        self.table, self.bias = table, bias

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., V)."""
        return F.linear(x, self.table) * self.table.shape[1] ** 0.5 + self.bias


class MaskedLanguageModel(nn.Module):
    """An encoder, and a head that predicts words.

    In BERT the head's last matrix is the encoder's table of words (tied): a word's row
    serves to read it and to predict it.

    Args:
        encoder: such as `bert_encoder` makes
        head: class of the head: called with d_model and V, its last layer `decoder`
        tied: share the table; a small model learns faster without
    """

    def __init__(
        self,
        encoder: Encoder,
        head: type[nn.Module] = MaskedLanguageHead,
        tied: bool = True,
    ) -> None:
        super().__init__()
        table = encoder.embedding.table.weight  # (V, D)
        self.encoder, self.head = encoder, head(table.shape[1], len(table))
        if tied:
            nn.init.zeros_(self.head.decoder.bias)
            self.head.decoder = Tied(table, self.head.decoder.bias)

    def forward(self, ids: Tensor, mask: Tensor | None, chosen: Tensor) -> Tensor:
        """Predict the words at chosen places; the others would be computed for nothing.

        Args:
            ids: (B, T)
            mask: boolean, True = may attend, broadcastable to (B, H, T, S=T)
            chosen: (B, T), boolean, N of them True

        Returns:
            Logits (N, V).
        """
        return self.head(self.encoder(ids, mask)[chosen])
