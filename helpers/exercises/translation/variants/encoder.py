"""Independent solutions to 8.A."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class PackedEncoder(nn.Module):
    """Lets torch skip the padding; its memory is 0 there."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.rnn = nn.GRU(d_model, d_model, batch_first=True)

    def forward(self, ids):
        words = self.embedding(ids)
        lengths = (ids != 0).sum(1)
        packed = pack_padded_sequence(words, lengths, True, enforce_sorted=False)
        states, last = self.rnn(packed)
        memory, _ = pad_packed_sequence(states, True, total_length=ids.shape[1])
        return memory, last[-1]


class TimeFirstEncoder(nn.Module):
    """torch's default order of axes, and gather for the last state."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model, padding_idx=0)
        self.rnn = nn.GRU(input_size=d_model, hidden_size=d_model)

    def forward(self, ids):
        memory = self.rnn(self.embedding(ids.T))[0].transpose(0, 1)
        last = ids.count_nonzero(1) - 1
        place = last[:, None, None].expand(-1, 1, memory.shape[-1])
        return memory, memory.gather(1, place).squeeze(1)


class SentenceBySentence(nn.Module):
    """One sentence after the other, each without its padding."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.rnn = nn.GRU(d_model, d_model, batch_first=True)

    def forward(self, ids):
        rows, last = [], []
        for row in ids:
            states, state = self.rnn(self.embedding(row[row != 0])[None])
            rows.append(F.pad(states[0], (0, 0, 0, len(row) - states.shape[1])))
            last.append(state[0, 0])
        return [torch.stack(rows), torch.stack(last)]


class MaskedSum(nn.Module):
    """Picks the last state by multiplying with 1 and 0."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.rnn = nn.GRU(d_model, d_model, batch_first=True)

    def forward(self, ids):
        memory = self.rnn(self.embedding(ids))[0]
        real = ids.ne(0)
        following = F.pad(real[:, 1:], (0, 1))
        chosen = (real & ~following).to(memory.dtype)
        return memory, (memory * chosen.unsqueeze(-1)).sum(1)


VARIANTS = {
    "8.A": (PackedEncoder, TimeFirstEncoder, SentenceBySentence, MaskedSum),
}
