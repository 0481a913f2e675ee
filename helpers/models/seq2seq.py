"""Sequence to sequence before the Transformer: two GRUs, without and with attention.

Both models have the Transformer's interface (`encode`, `decode`, and a call with
source, target and their masks), so that the same training and decoding serve all three.
"""

import torch
from torch import Tensor, nn


def last_state(memory: Tensor, mask: Tensor | None = None) -> Tensor:
    """The state after the last real word: all that a fixed context vector holds.

    Args:
        memory: (B, S, D), a state per place
        mask: boolean, (B, 1, 1, S), True = real word; padding stands behind the words

    Returns:
        (B, D)
    """
    if mask is None:
        return memory[:, -1]
    last = mask.reshape(len(memory), -1).sum(-1) - 1  # (B), places counted from 0
    return memory[torch.arange(len(memory), device=memory.device), last]


class RecurrentEncoder(nn.Module):
    """Reads a sentence word by word; a state for each place."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.rnn = nn.GRU(d_model, d_model, batch_first=True)

    def forward(self, ids: Tensor) -> Tensor:
        """(B, S) -> memory (B, S, D); what stands at padding means nothing."""
        return self.rnn(self.embedding(ids))[0]


class RecurrentDecoder(nn.Module):
    """Writes from one vector: the context is its first state, and all it gets."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.rnn = nn.GRU(d_model, d_model, batch_first=True)
        self.final_layer = nn.Linear(d_model, vocab_size)

    def forward(self, target: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """Score the next word at every place, given the true ones before it.

        Args:
            target: (B, T), token ids, the start token first
            memory: (B, S, D), of which only the last real state is used
            mask: boolean, (B, 1, 1, S), True = real word

        Returns:
            logits, (B, T, V)

        Source: Sutskever et al. 2014, section 2, with GRUs for their deep LSTMs.
        """
        context = last_state(memory, mask)
        states, _ = self.rnn(self.embedding(target), context[None].contiguous())
        return self.final_layer(states)


class AdditiveAttention(nn.Module):
    """Attention whose scores come from a small network, not from a dot product.

    scores = v . tanh(W_q query + W_k key)

    Source: Bahdanau et al. 2015, section 3.1 and appendix A.1.2.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, 1, bias=False)

    def forward(
        self,
        query: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        *,
        keys: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Mix the memory for each query.

        Args:
            query: (B, T, D)
            memory: (B, S, D), keys and values at once
            mask: boolean, True = may attend, broadcastable to (B, T, S)
            keys: W_k(memory), where it is known already
            need_weights: also return the weights

        Returns:
            (B, T, D); with `need_weights` also (B, T, S)
        """
        keys = self.W_k(memory) if keys is None else keys  # (B, S, D)
        pairs = self.W_q(query)[:, :, None] + keys[:, None]  # (B, T, S, D)
        scores = self.v(pairs.tanh()).squeeze(-1)  # (B, T, S)
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1)
        output = weights @ memory
        return (output, weights) if need_weights else output


class AttentionDecoder(nn.Module):
    """Looks back into the memory before each word that it writes."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = AdditiveAttention(d_model)
        self.cell = nn.GRUCell(2 * d_model, d_model)
        self.final_layer = nn.Linear(d_model, vocab_size)

    def forward(
        self,
        target: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        *,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Score the next word at every place, given the true ones before it.

        The state before a word asks the memory; the answer and the word go into the
        cell together. The paper scores words from state, word and answer; here, as
        without attention, from the state alone.

        Args:
            target: (B, T), token ids, the start token first
            memory: (B, S, D)
            mask: boolean, (B, 1, 1, S), True = real word
            need_weights: also return the attention

        Returns:
            logits, (B, T, V); with `need_weights` also weights, (B, T, S)

        Source: Bahdanau et al. 2015, section 3.1.
        """
        words = self.embedding(target)  # (B, T, D)
        keys = self.attention.W_k(memory)  # once for all words
        state = last_state(memory, mask)  # (B, D)
        allowed = None if mask is None else mask[:, 0]  # (B, T=1, S)
        states, looks = [], []
        for word in words.unbind(1):
            context, weights = self.attention(
                state[:, None], memory, allowed, keys=keys, need_weights=True
            )
            state = self.cell(torch.cat([word, context[:, 0]], dim=-1), state)
            states.append(state)
            looks.append(weights)
        logits = self.final_layer(torch.stack(states, dim=1))
        return (logits, torch.cat(looks, dim=1)) if need_weights else logits


class Seq2Seq(nn.Module):
    """Encoder and decoder of recurrent layers, called like a Transformer."""

    def __init__(
        self, source_size: int, target_size: int, d_model: int, attention: bool
    ) -> None:
        """Create both halves.

        Args:
            source_size: ids of the source
            target_size: ids of the target
            d_model: width of words and states
            attention: whether the decoder may look back
        """
        super().__init__()
        self.encoder = RecurrentEncoder(source_size, d_model)
        decoder = AttentionDecoder if attention else RecurrentDecoder
        self.decoder = decoder(target_size, d_model)

    def encode(self, source: Tensor, source_mask: Tensor | None) -> Tensor:
        """(B, S) -> memory (B, S, D)."""
        return self.encoder(source)

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        target_mask: Tensor | None,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        """(B, T) and memory -> logits (B, T, V); no future to hide, so no target mask.

        Padding of the target stands behind its words, where it changes nothing.
        """
        return self.decoder(target, memory, source_mask)

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        source_mask: Tensor | None,
        target_mask: Tensor | None,
    ) -> Tensor:
        """(B, S), (B, T) and masks -> logits (B, T, V)."""
        memory = self.encode(source, source_mask)
        return self.decode(target, memory, target_mask, source_mask)
