"""Recurrent networks: RNN, LSTM and GRU from their formulas, and a model of characters.

`Recurrent` is built from the formulas, its parameters named and shaped like those of
`nn.RNN`, `nn.LSTM` and `nn.GRU`. `CharacterModel` is what an engineer would ship: it
uses torch's own layers, which compute the same in compiled code.

    B batch    T length    V vocabulary    D input size    N hidden size
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

State = Tensor | tuple[Tensor, Tensor]  # (1, B, N); an LSTM has two: h and c

__all__ = [
    "CELLS",
    "CharacterModel",
    "Recurrent",
    "State",
    "detached",
    "gru_step",
    "influence",
    "lstm_step",
    "rnn_step",
]


def rnn_step(read: Tensor, h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """One step of an RNN: h' = tanh(W_x x + W_h h + b).

    Args:
        read: W_x x + b_x, (B, N)
        h: (B, N), the state before
        weight: W_h, (N, N)
        bias: b_h, (N,)

    Source: Elman 1990.
    """
    return torch.tanh(read + F.linear(h, weight, bias))


def lstm_step(
    read: Tensor, state: tuple[Tensor, Tensor], weight: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: c' = f * c + i * g and h' = o * tanh(c').

    The gates i, f, o are sigmoids and g a tanh, each of its own W_x x + W_h h + b.

    Args:
        read: W_x x + b_x, (B, 4N), in torch's order i, f, g, o
        state: h and c before, (B, N) each
        weight: W_h, (4N, N)
        bias: b_h, (4N,)

    Returns:
        h' and c'.

    Source: Hochreiter and Schmidhuber 1997; Gers et al. 2000 for the forget gate.
    """
    h, c = state
    i, f, g, o = (read + F.linear(h, weight, bias)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_step(read: Tensor, h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """One step of a GRU: h' = (1 - z) * n + z * h.

    The gates r, z are sigmoids of W_x x + W_h h + b, and n = tanh(W_x x + r * (W_h h)).
    As in torch (and CUDA) the reset gate is applied after W_h; Cho et al. 2014 apply it
    before, n = tanh(W_x x + W_h (r * h)), and so do Chung et al. 2014, who also swap z
    with 1 - z.

    Args:
        read: W_x x + b_x, (B, 3N), in torch's order r, z, n
        h: (B, N), the state before
        weight: W_h, (3N, N)
        bias: b_h, (3N,)
    """
    read_r, read_z, read_n = read.chunk(3, -1)
    past_r, past_z, past_n = F.linear(h, weight, bias).chunk(3, -1)
    r, z = (read_r + past_r).sigmoid(), (read_z + past_z).sigmoid()
    n = (read_n + r * past_n).tanh()
    return (1 - z) * n + z * h


# Name -> step, how many blocks of N rows its weights have, torch's layer.
CELLS: dict[str, tuple[Callable, int, type[nn.RNNBase]]] = {
    "rnn": (rnn_step, 1, nn.RNN),
    "lstm": (lstm_step, 4, nn.LSTM),
    "gru": (gru_step, 3, nn.GRU),
}


class Recurrent(nn.Module):
    """One recurrent layer, written from the formulas.

    Takes and returns what `nn.RNN(..., batch_first=True)` does, and its state dict
    fits there.
    """

    def __init__(self, input_size: int, hidden_size: int, cell: str = "rnn") -> None:
        """Draw all weights from -1/sqrt(N) to 1/sqrt(N), as torch does.

        Args:
            input_size: D
            hidden_size: N
            cell: "rnn", "lstm" or "gru"
        """
        super().__init__()
        self.cell, (self.step, blocks, _) = _known(cell), CELLS[cell]
        rows, self.hidden_size = blocks * hidden_size, hidden_size
        self.weight_ih_l0 = nn.Parameter(torch.empty(rows, input_size))
        self.weight_hh_l0 = nn.Parameter(torch.empty(rows, hidden_size))
        self.bias_ih_l0 = nn.Parameter(torch.empty(rows))
        self.bias_hh_l0 = nn.Parameter(torch.empty(rows))
        for weight in self.parameters():
            nn.init.uniform_(weight, -(hidden_size**-0.5), hidden_size**-0.5)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Read a sequence step by step.

        Args:
            x: (B, T, D)
            state: (1, B, N), for an LSTM a pair of them; zeros by default

        Returns:
            The state after each step (B, T, N), of an LSTM only h, and the last state.
        """
        two = self.cell == "lstm"
        if state is None:
            zeros = x.new_zeros(1, len(x), self.hidden_size)
            state = (zeros, zeros) if two else zeros
        state = (state[0][0], state[1][0]) if two else state[0]
        reads = F.linear(x, self.weight_ih_l0, self.bias_ih_l0)  # all steps at once
        outputs = []
        for read in reads.unbind(1):
            state = self.step(read, state, self.weight_hh_l0, self.bias_hh_l0)
            outputs.append(state[0] if two else state)
        last = (state[0][None], state[1][None]) if two else state[None]
        return torch.stack(outputs, 1), last


class CharacterModel(nn.Module):
    """Characters in, logits of the next character out, at every place.

    The input is one-hot, so that W_x has a column for each character: an embedding
    table and W_x in one.
    """

    def __init__(
        self,
        vocab_size: int,
        hidden_size: int,
        cell: str = "lstm",
        dropout: float = 0.0,
    ) -> None:
        """Create torch's layer and the last one.

        Args:
            vocab_size: V
            hidden_size: N
            cell: "rnn", "lstm" or "gru"
            dropout: rate, between the states and the last layer
        """
        super().__init__()
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        self.cell, (_, _, layer) = _known(cell), CELLS[cell]
        self.recurrent = layer(vocab_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden_size, vocab_size)

    def forward(self, ids: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Read characters and predict after each one.

        Args:
            ids: (B, T)
            state: what an earlier call returned; None begins with zeros

        Returns:
            Logits (B, T, V), and the state after the last character.
        """
        x = F.one_hot(ids, self.vocab_size).to(self.output.weight.dtype)  # (B, T, V)
        hidden, state = self.recurrent(x, state)  # (B, T, N)
        return self.output(self.dropout(hidden)), state


def detached(state: State | None) -> State | None:
    """The same state without its history: backpropagation ends here."""
    if state is None or isinstance(state, Tensor):
        return state if state is None else state.detach()
    return tuple(part.detach() for part in state)


def influence(model: CharacterModel, ids: Tensor, warm_up: int) -> dict[str, Tensor]:
    """How much a later state depends on an earlier one: |d h_t / d h_0| by distance t.

    The Jacobians of single steps are multiplied up (Pascanu et al. 2013). A norm is the
    root of the mean of the squares of its singular values, so that the identity has 1.

    Args:
        model: only its recurrent layer is used, without dropout
        ids: (B, W + T), W characters to warm up the state and T to measure along
        warm_up: W

    Returns:
        "h" -> (B, T), and for an LSTM also "c" -> (B, T), the influence of its cell c_0
        on h_t.
    """
    layer, size = model.recurrent, model.hidden_size
    step, weight, bias = CELLS[model.cell][0], layer.weight_hh_l0, layer.bias_hh_l0

    def packed(read: Tensor, state: Tensor) -> Tensor:
        if model.cell != "lstm":
            return step(read, state, weight, bias)
        return torch.cat(step(read, state.split(size), weight, bias))

    slope = torch.func.vmap(torch.func.jacrev(packed, 1))
    with torch.no_grad():
        _, state = model.eval()(ids[:, :warm_up])
        state = torch.cat(state, -1)[0] if model.cell == "lstm" else state[0]
        reads = layer.weight_ih_l0.T[ids[:, warm_up:]] + layer.bias_ih_l0  # (B, T, .)
        whole, norms = None, []
        for read in reads.unbind(1):
            new = slope(read, state)  # (B, states, states)
            whole = new if whole is None else new @ whole
            state = torch.func.vmap(packed)(read, state)
            blocks = whole[:, :size].split(size, -1)  # of h_t by h_0, and by c_0
            norms.append(torch.stack([b.norm(dim=(1, 2)) / size**0.5 for b in blocks]))
    return dict(zip(("h", "c"), torch.stack(norms, -1), strict=False))


def _known(cell: str) -> str:
    if cell not in CELLS:
        raise ValueError(f"cell={cell!r} is not one of {', '.join(CELLS)}")
    return cell
