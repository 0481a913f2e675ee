"""Lesson 08 in other hands: packed sequences, einsum, loops, other last states."""

from collections import Counter, deque

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

# --- 8.1 the encoder ---


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


# --- 8.2 the decoder ---


class StepByStepDecoder(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.rnn = nn.GRU(d_model, d_model, batch_first=True)
        self.final_layer = nn.Linear(d_model, vocab_size)

    def forward(self, target, context):
        state, logits = context.unsqueeze(0).contiguous(), []
        for place in range(target.size(1)):
            word = self.embedding(target[:, place : place + 1])
            output, state = self.rnn(word, state)
            logits.append(self.final_layer(output[:, 0]))
        return torch.stack(logits, dim=1)


class TimeFirstDecoder(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.rnn = nn.GRU(d_model, d_model)
        self.final_layer = nn.Linear(d_model, vocab_size)

    def forward(self, target, context):
        words = self.embedding(target).permute(1, 0, 2)
        states, _ = self.rnn(words, context[None])
        return self.final_layer(states).permute(1, 0, 2)


class WrittenOutDecoder(nn.Module):
    """The last layer as a matrix product."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.rnn = nn.GRU(d_model, d_model, 1, True, True)
        self.final_layer = nn.Linear(d_model, vocab_size)

    def forward(self, target, context):
        first = context.reshape(1, *context.shape)
        states = self.rnn(F.embedding(target, self.embedding.weight), first)[0]
        return states @ self.final_layer.weight.T + self.final_layer.bias


# --- 8.3 additive attention ---


class Maps(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, 1, bias=False)


class QueryByQuery(Maps):
    def forward(self, query, memory, mask=None):
        scores = torch.stack(
            [
                self.v(torch.tanh(self.W_q(one)[:, None] + self.W_k(memory))).squeeze(2)
                for one in query.unbind(1)
            ],
            dim=1,
        )
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), torch.finfo().min)
        weights = F.softmax(scores, -1)
        return torch.bmm(weights, memory), weights


class ByEinsum(Maps):
    def forward(self, query, memory, mask=None):
        q, k = self.W_q(query), self.W_k(memory)
        bent = torch.tanh(q[:, :, None, :] + k[:, None, :, :])
        scores = torch.einsum("btsd,d->bts", bent, self.v.weight[0])
        if mask is not None:
            scores = torch.where(mask, scores, -torch.inf)
        weights = scores.softmax(2)
        return torch.einsum("bts,bsd->btd", weights, memory), weights


class ByExponentials(Maps):
    """The softmax by hand, the mask as a factor of the exponentials."""

    def forward(self, query, memory, mask=None):
        size = (*query.shape[:2], *memory.shape[1:])
        q = self.W_q(query).unsqueeze(2).expand(size)
        k = self.W_k(memory).unsqueeze(1).expand(size)
        scores = self.v(torch.tanh(q + k)).squeeze(-1)
        powers = (scores - scores.detach().amax(-1, keepdim=True)).exp()
        if mask is not None:
            powers = powers * mask
        weights = powers / powers.sum(-1, keepdim=True)
        return weights.matmul(memory), weights


class Joined(Maps):
    """W_q and W_k side by side, on query and key side by side: as in the paper."""

    def forward(self, query, memory, mask=None):
        size = (*query.shape[:2], *memory.shape[1:])
        pairs = torch.cat(
            [query[:, :, None].expand(size), memory[:, None].expand(size)], -1
        )
        both = torch.cat([self.W_q.weight, self.W_k.weight], dim=1)
        scores = torch.tanh(pairs @ both.T) @ self.v.weight.flatten()
        if mask is not None:
            scores = scores + torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
        weights = scores.softmax(-1)
        return weights @ memory, weights


# --- 8.3b the decoder that looks back ---


class Looking(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = QueryByQuery(d_model)
        self.cell = nn.GRUCell(2 * d_model, d_model)
        self.final_layer = nn.Linear(d_model, vocab_size)


class ByPlaces(Looking):
    def forward(self, target, memory, context, mask=None):
        words, logits, looks = self.embedding(target), [], []
        for place in range(target.shape[1]):
            answer, weights = self.attention(context[:, None, :], memory, mask)
            inputs = torch.cat((words[:, place], answer[:, 0]), dim=-1)
            context = self.cell(inputs, context)
            logits.append(self.final_layer(context))
            looks.append(weights[:, 0])
        return torch.stack(logits, 1), torch.stack(looks, 1)


class IntoTables(Looking):
    """Results are written into tables made before."""

    def forward(self, target, memory, context, mask=None):
        batch, length = target.shape
        logits = memory.new_zeros(batch, length, self.final_layer.out_features)
        looks = memory.new_zeros(batch, length, memory.shape[1])
        state = context
        for place in range(length):
            answer, weights = self.attention(state.unsqueeze(1), memory, mask=mask)
            word = self.embedding(target[:, place])
            state = self.cell(torch.hstack([word, answer.squeeze(1)]), state)
            logits[:, place], looks[:, place] = self.final_layer(state), weights[:, 0]
        return logits, looks


class WithoutItsModule(Looking):
    """The attention's formula once more, with the keys computed once."""

    def forward(self, target, memory, context, mask=None):
        part, state, out = self.attention, context, []
        keys = part.W_k(memory)
        for word in self.embedding(target).transpose(0, 1):
            scores = part.v((part.W_q(state)[:, None] + keys).tanh()).mT  # (B, 1, S)
            if mask is not None:
                scores = scores.masked_fill(~mask, -1e30)
            weights = scores.softmax(-1)
            found = (weights @ memory)[:, 0]
            state = self.cell(torch.cat([word, found], 1), state)
            out.append((self.final_layer(state), weights[:, 0]))
        return tuple(torch.stack(one, 1) for one in zip(*out, strict=True))


# --- 8.4 the exact match of each length ---


def by_counters(texts, expected, lengths):
    every, hits = Counter(lengths), Counter()
    for text, right, length in zip(texts, expected, lengths, strict=True):
        hits[length] += text == right
    return {length: hits[length] / count for length, count in every.items()}


def by_tensors(texts, expected, lengths):
    right = torch.tensor([a == b for a, b in zip(texts, expected, strict=True)])
    its = torch.tensor(lengths)
    return {n: right[its == n].double().mean() for n in sorted(set(lengths))}


def by_lists(texts, expected, lengths):
    table = {}
    for place in range(len(texts)):
        table.setdefault(lengths[place], []).append(texts[place] == expected[place])
    return {length: sum(row) / len(row) for length, row in table.items()}


# --- 8.5 the length of a path ---


def by_queue(reads):
    steps, waiting = {0: 0}, deque([0])
    while waiting:
        place = waiting.popleft()
        for reader in range(len(reads)):
            if reads[reader, place] and reader not in steps:
                steps[reader] = steps[place] + 1
                waiting.append(reader)
    return steps[len(reads) - 1]


def by_powers(reads):
    power, steps = torch.eye(len(reads)), 0
    while not power[-1, 0]:
        power, steps = (reads.float() @ power).clamp(max=1), steps + 1
    return steps


def by_relaxing(reads):
    far = [0] + [len(reads)] * (len(reads) - 1)
    for _ in range(len(reads)):
        for reader, read in reads.nonzero().tolist():
            far[reader] = min(far[reader], far[read] + 1)
    return far[-1]


def from_the_end(reads):
    """Backwards: all the places that the last one can have it from."""
    sources, steps = {len(reads) - 1}, 0
    while 0 not in sources:
        sources |= {s for t in sources for s in reads[t].nonzero().flatten().tolist()}
        steps += 1
    return steps


VARIANTS = {
    "8.1": (PackedEncoder, TimeFirstEncoder, SentenceBySentence, MaskedSum),
    "8.2": (StepByStepDecoder, TimeFirstDecoder, WrittenOutDecoder),
    "8.3": (QueryByQuery, ByEinsum, ByExponentials, Joined),
    "8.3b": (ByPlaces, IntoTables, WithoutItsModule),
    "8.4": (by_counters, by_tensors, by_lists),
    "8.5": (by_queue, by_powers, by_relaxing, from_the_end),
}
