"""Lesson 07 in other hands: loops, einsum, torch's own cells, numpy."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

# --- 7.1 slopes ---


def slopes_by_autograd(x):
    found = []
    for function in (torch.sigmoid, torch.tanh, torch.relu):
        leaf = x.clone().requires_grad_()
        found.append(torch.autograd.grad(function(leaf).sum(), leaf)[0])
    return tuple(found)


def slopes_by_exp(x):
    s = 1 / (1 + torch.exp(-x))
    t = 2 / (1 + torch.exp(-2 * x)) - 1
    return s * (1 - s), 1 - t * t, torch.where(x > 0, 1.0, 0.0).to(x.dtype)


def slopes_in_a_list(x):
    s = torch.sigmoid(x)
    return [s - s**2, 1 - torch.tanh(x).square(), torch.heaviside(x, x * 0)]


def slopes_by_the_sign(x):
    """The ReLU's slope is 0.5 at 0: any from 0 to 1 is as good."""
    s, t = torch.sigmoid(x), torch.tanh(x)
    return s * (1 - s), 1 - t**2, (torch.sign(x) + 1) / 2


# --- 7.2 characters ---


def encode_by_dict(text, characters):
    ids = {one: place for place, one in enumerate(characters)}
    return torch.tensor([ids[one] for one in text])


def encode_by_numpy(text, characters):
    return torch.from_numpy(np.array(list(map(characters.find, text))))


def encode_in_a_loop(text, characters):
    ids = torch.zeros(len(text), dtype=torch.long)
    for place, one in enumerate(text):
        ids[place] = characters.index(one)
    return ids


def decode_by_adding(ids, characters):
    text = ""
    for number in ids:
        text += characters[number]
    return text


def decode_by_map(ids, characters):
    return "".join(map(characters.__getitem__, ids.tolist()))


def decode_by_dict(ids, characters):
    known = dict(enumerate(characters))
    return "".join([known[number.item()] for number in ids])


# --- 7.3 batches ---


def batches_in_loops(ids, batch_size, length):
    count = (len(ids) - 1) // (batch_size * length)
    found = []
    for number in range(count):
        x, y = [], []
        for row in range(batch_size):
            first = (row * count + number) * length
            x.append(ids[first : first + length])
            y.append(ids[first + 1 : first + length + 1])
        found.append((torch.stack(x), torch.stack(y)))
    return found


def batches_by_chunks(ids, batch_size, length):
    count = (len(ids) - 1) // (batch_size * length)
    used = count * batch_size * length
    x, y = ids[:-1][:used].view(batch_size, -1), ids[1:][:used].view(batch_size, -1)
    return list(zip(x.chunk(count, 1), y.chunk(count, 1), strict=True))


def batches_by_axes(ids, batch_size, length):
    n = (ids.numel() - 1) // (batch_size * length)
    x = ids[: n * batch_size * length].reshape(batch_size, n, length)
    y = ids[1 : n * batch_size * length + 1].reshape(batch_size, n, length)
    return [[x[:, k], y[:, k]] for k in range(n)]


# --- 7.4 one step ---


def step_by_linear(x, h, W_x, W_h, b):
    return (F.linear(x, W_x, b) + F.linear(h, W_h)).tanh()


def step_by_einsum(x, h, W_x, W_h, b):
    total = torch.einsum("bd,nd->bn", x, W_x) + torch.einsum("bm,nm->bn", h, W_h) + b
    return torch.tanh(total)


def step_in_one_matrix(x, h, W_x, W_h, b):
    both, weight = torch.cat([x, h], 1), torch.cat([W_x, W_h], 1)
    return torch.tanh(both @ weight.mT + b)


def step_by_torch(x, h, W_x, W_h, b):
    cell = nn.RNNCell(x.shape[1], h.shape[1], dtype=x.dtype)
    named = {"weight_ih": W_x, "weight_hh": W_h, "bias_ih": b, "bias_hh": b * 0}
    return torch.func.functional_call(cell, named, (x, h))


# --- 7.4b a network ---


class RNNByLookUp(nn.Module):
    """Takes columns of W_x; keeps all the states and projects them at once."""

    def __init__(self, vocab_size, hidden_size):
        super().__init__()
        self.W_x = nn.Linear(vocab_size, hidden_size, bias=False)
        self.W_h = nn.Linear(hidden_size, hidden_size)
        self.W_y = nn.Linear(hidden_size, vocab_size)

    def forward(self, ids, state=None):
        x = self.W_x.weight.T[ids]
        state = x[:, 0] * 0 if state is None else state
        states = []
        for t in range(ids.shape[1]):
            state = torch.tanh(x[:, t] + self.W_h(state))
            states.append(state)
        return self.W_y(torch.stack(states, dim=1)), state


class RNNInPlace(nn.Module):
    """Fills a tensor of logits, place by place."""

    def __init__(self, vocab_size, hidden_size):
        super().__init__()
        self.size = vocab_size
        self.W_x = nn.Linear(vocab_size, hidden_size, bias=False)
        self.W_h = nn.Linear(hidden_size, hidden_size, bias=True)
        self.W_y = nn.Linear(hidden_size, vocab_size)

    def forward(self, ids, state=None):
        like, (batch, length) = self.W_h.weight, ids.shape
        if state is None:
            state = like.new_zeros(batch, len(like))
        logits = like.new_zeros(batch, length, self.size)
        for t in range(length):
            x = F.one_hot(ids[:, t], self.size).to(like.dtype)
            state = (self.W_x(x) + self.W_h(state)).tanh()
            logits[:, t] = self.W_y(state)
        return logits, state


class RNNBiasOnTheInput(RNNByLookUp):
    """Has b beside W_x: the sum is the same."""

    def __init__(self, vocab_size, hidden_size):
        super().__init__(vocab_size, hidden_size)
        self.W_x = nn.Linear(vocab_size, hidden_size)
        self.W_h = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, ids, state=None):
        x = self.W_x(F.one_hot(ids, self.W_y.out_features).to(self.W_x.weight.dtype))
        state = x[:, 0] * 0 if state is None else state
        logits = []
        for t in range(ids.shape[1]):
            state = (x[:, t] + self.W_h(state)).tanh()
            logits.append(self.W_y(state))
        return torch.stack(logits, dim=1), state


class RNNBothBiases(RNNBiasOnTheInput):
    """Has b in two parts, as torch's layer has."""

    def __init__(self, vocab_size, hidden_size):
        super().__init__(vocab_size, hidden_size)
        self.W_h = nn.Linear(hidden_size, hidden_size)


class RNNByTorch(nn.Module):
    """Hands its weights to torch's layer."""

    def __init__(self, vocab_size, hidden_size):
        super().__init__()
        self.layer = nn.RNN(vocab_size, hidden_size, batch_first=True)
        self.W_x = nn.Linear(vocab_size, hidden_size, bias=False)
        self.W_h = nn.Linear(hidden_size, hidden_size)
        self.W_y = nn.Linear(hidden_size, vocab_size)

    def forward(self, ids, state=None):
        x = F.one_hot(ids, self.W_x.in_features).to(self.W_x.weight.dtype)
        named = {
            "weight_ih_l0": self.W_x.weight,
            "weight_hh_l0": self.W_h.weight,
            "bias_ih_l0": self.W_h.bias,
            "bias_hh_l0": torch.zeros_like(self.W_h.bias),
        }
        given = (x,) if state is None else (x, state[None])
        states, last = torch.func.functional_call(self.layer, named, given)
        return [self.W_y(states), last[0]]


# --- 7.5 the state between batches ---


def carried_by_data(state):
    return state.data


def carried_by_copy(state):
    return state.clone().detach()


def carried_under_no_grad(state):
    with torch.no_grad():
        return state * 1


def carried_by_numpy(state):
    return torch.from_numpy(state.detach().numpy().copy())


def carried_in_place(state):
    return state.detach_()


# --- 7.6 a pass ---


def epoch_flattened(model, batches, optimizer, clip):
    model.train()
    state, total = None, 0.0
    for x, y in batches:
        optimizer.zero_grad()
        logits, state = model(x, state)
        state = state.detach()
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(list(model.parameters()), clip)
        optimizer.step()
        total += loss.item()
    return total / len(batches)


def epoch_by_hand(model, batches, optimizer, clip):
    model.train()
    state, losses = None, []
    for x, y in batches:
        state = None if state is None else state.detach()
        logits, state = model(x, state)
        chosen = logits.log_softmax(-1).gather(-1, y[..., None])
        loss = -chosen.mean()
        model.zero_grad()
        loss.backward()
        norm = torch.stack([p.grad.square().sum() for p in model.parameters()]).sum()
        factor = min(1.0, clip / (math.sqrt(norm.item()) + 1e-6))
        for p in model.parameters():
            p.grad *= factor
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).mean()


def epoch_by_the_formula(model, batches, optimizer, clip):
    """Clips as the lesson does by hand, and takes the mean in float32."""
    model.train()
    state, losses = None, []
    for x, y in batches:
        logits, state = model(x, state)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        gradients = [weight.grad for weight in model.parameters()]
        norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
        factor = min(1.0, clip / norm.item())
        for gradient in gradients:
            gradient.mul_(factor)
        optimizer.step()
        state = state.detach()
        losses.append(loss.item())
    return torch.tensor(losses).mean().item()


def epoch_cleared_last(model, batches, optimizer, clip):
    model.train(True)
    optimizer.zero_grad()
    state, losses = None, []
    for x, y in batches:
        logits, state = model(x, state)
        loss = nn.CrossEntropyLoss()(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=clip)
        optimizer.step()
        optimizer.zero_grad()
        state = state.data
        losses += [loss.item()]
    return np.mean(losses)


# --- 7.7 chances ---


def chances_by_sorting(logits, temperature=1.0, top_k=None):
    scaled = logits / temperature
    if top_k:
        limit = scaled.sort(-1, descending=True).values[:, top_k - 1, None]
        scaled = torch.where(scaled >= limit, scaled, -torch.inf)
    return F.softmax(scaled, dim=-1)


def chances_cut_last(logits, temperature=1.0, top_k=None):
    whole = (logits / temperature).softmax(-1)
    if top_k is None:
        return whole
    best = whole.topk(top_k, dim=-1)
    kept = torch.zeros_like(whole).scatter(-1, best.indices, best.values)
    return kept / kept.sum(-1, keepdim=True)


def chances_by_hand(logits, temperature=1.0, top_k=None):
    """Subtracts the maximum before the exponential."""
    far = (logits - logits.amax(-1, keepdim=True)) / temperature
    powers = far.exp()
    if top_k is not None:
        powers = powers * (far >= far.topk(top_k, -1).values[:, -1:])
    return powers / powers.sum(-1, keepdim=True)


def chances_row_by_row(logits, temperature=1.0, top_k=None):
    rows = []
    for row in logits:
        row = row.clone()
        if top_k is not None:
            order = row.argsort(descending=True)
            row[order[top_k:]] = torch.finfo(row.dtype).min
        rows.append(torch.softmax(row / temperature, 0))
    return torch.stack(rows)


# --- 7.7b writing ---


def _shape(logits, temperature, top_k):
    logits = logits.clone()
    if top_k is not None:
        worst = logits.topk(top_k, -1).values[:, -1:]
        logits[logits < worst] = float("-inf")
    return torch.softmax(logits / temperature, -1)


@torch.no_grad()
def sample_filling_a_table(model, ids, length, temperature=1.0, top_k=None):
    batch, start = ids.shape
    whole = ids.new_zeros(batch, start + length)
    whole[:, :start] = ids
    model.eval()
    state, first = None, 0
    for place in range(start, start + length):
        logits, state = model(whole[:, first:place], state)
        chances = _shape(logits[:, -1], temperature, top_k)
        whole[:, place], first = torch.multinomial(chances, 1).squeeze(1), place
    return whole


def sample_into_a_list(model, ids, length, temperature=1.0, top_k=None):
    model = model.eval()
    logits, state = model(ids)
    parts = [ids]
    for _ in range(length):
        drawn = torch.distributions.Categorical(
            _shape(logits.detach()[:, -1], temperature, top_k)
        ).sample()
        parts.append(drawn[:, None])
        logits, state = model(parts[-1], state)
    return torch.hstack(parts)


def sample_warming_up_first(model, ids, length, temperature=1.0, top_k=None):
    model.train(False)
    state = None
    for place in range(ids.shape[1]):
        logits, state = model(ids[:, place : place + 1], state)
    for _ in range(length):
        by_noise = _shape(logits[:, -1], temperature, top_k).log()
        noise = -torch.log(-torch.log(torch.rand_like(by_noise)))  # Gumbel
        ids = torch.cat([ids, (by_noise + noise).argmax(-1, keepdim=True)], 1)
        logits, state = model(ids[:, -1:], state)
    return ids


# --- 7.8 LSTM ---


def lstm_by_torch(x, h, c, W_x, W_h, b):
    cell = nn.LSTMCell(x.shape[1], h.shape[1], dtype=x.dtype)
    named = {"weight_ih": W_x, "weight_hh": W_h, "bias_ih": b * 0, "bias_hh": b}
    return torch.func.functional_call(cell, named, (x, (h, c)))


def lstm_gate_by_gate(x, h, c, W_x, W_h, b):
    n = h.shape[1]

    def block(k):
        rows = slice(k * n, (k + 1) * n)
        return x @ W_x[rows].T + h @ W_h[rows].T + b[rows]

    keep, write = torch.sigmoid(block(1)), torch.sigmoid(block(0))
    new = keep * c + write * torch.tanh(block(2))
    return torch.sigmoid(block(3)) * torch.tanh(new), new


def lstm_in_one_matrix(x, h, c, W_x, W_h, b):
    total = F.linear(torch.cat([x, h], 1), torch.cat([W_x, W_h], 1), b)
    i, f, g, o = total.view(len(x), 4, -1).unbind(1)
    i, f, o = torch.sigmoid(torch.stack([i, f, o]))
    cell = torch.addcmul(f * c, i, torch.tanh(g))
    return [o * torch.tanh(cell), cell]


# --- 7.9 GRU ---


def gru_by_torch(x, h, W_x, W_h, b_x, b_h):
    cell = nn.GRUCell(x.shape[1], h.shape[1], dtype=x.dtype)
    named = {"weight_ih": W_x, "weight_hh": W_h, "bias_ih": b_x, "bias_hh": b_h}
    return torch.func.functional_call(cell, named, (x, h))


def gru_gate_by_gate(x, h, W_x, W_h, b_x, b_h):
    n = h.shape[1]

    def block(k):
        rows = slice(k * n, (k + 1) * n)
        return F.linear(x, W_x[rows], b_x[rows]), F.linear(h, W_h[rows], b_h[rows])

    reset, update = (torch.sigmoid(sum(block(k))) for k in (0, 1))
    read, past = block(2)
    return torch.lerp(torch.tanh(read + reset * past), h, update)


def gru_by_difference(x, h, W_x, W_h, b_x, b_h):
    xr, xz, xn = torch.tensor_split(x @ W_x.mT + b_x, 3, dim=1)
    hr, hz, hn = torch.tensor_split(h @ W_h.mT + b_h, 3, dim=1)
    candidate = torch.tanh(xn + torch.sigmoid(xr + hr) * hn)
    return candidate + torch.sigmoid(xz + hz) * (h - candidate)


# --- 7.10 influence ---


def influence_of_the_whole(step, inputs, h):
    def run(first, t):
        for x in inputs[: t + 1]:
            first = step(x, first)
        return first

    return torch.stack([
        torch.autograd.functional.jacobian(lambda first, t=t: run(first, t), h).norm()
        for t in range(len(inputs))
    ])  # fmt: skip


def influence_row_by_row(step, inputs, h):
    first = state = h.clone().requires_grad_()
    norms = []
    for x in inputs:
        state = step(x, state)
        rows = [torch.autograd.grad(one, first, retain_graph=True)[0] for one in state]
        norms.append(torch.stack(rows).square().sum().sqrt())
    return torch.tensor(norms, dtype=h.dtype)


def influence_forwards(step, inputs, h):
    norms, whole = [], None
    for x in inputs:
        new = torch.func.jacrev(lambda past, x=x: step(x, past))(h)
        whole = new if whole is None else torch.matmul(new, whole)
        norms.append(torch.linalg.matrix_norm(whole))
        h = step(x, h)
    return torch.stack(norms)


def influence_as_numbers(step, inputs, h):
    """In float32 whatever came in, as `torch.tensor` makes it of numbers."""
    norms, whole = [], torch.eye(len(h), dtype=h.dtype)
    for x in inputs:
        whole = torch.func.jacfwd(step, argnums=1)(x, h) @ whole
        h = step(x, h)
        norms.append(whole.pow(2).sum().sqrt().item())
    return torch.tensor(norms)


def influence_in_double(step, inputs, h):
    return influence_forwards(step, inputs, h).double()


VARIANTS = {
    "7.1": (
        slopes_by_autograd,
        slopes_by_exp,
        slopes_in_a_list,
        slopes_by_the_sign,
    ),
    "7.2": (
        (encode_by_dict, decode_by_adding),
        (encode_by_numpy, decode_by_map),
        (encode_in_a_loop, decode_by_dict),
    ),
    "7.3": (batches_in_loops, batches_by_chunks, batches_by_axes),
    "7.4": (step_by_linear, step_by_einsum, step_in_one_matrix, step_by_torch),
    "7.4b": (
        RNNByLookUp,
        RNNInPlace,
        RNNBiasOnTheInput,
        RNNBothBiases,
        RNNByTorch,
    ),
    "7.5": (
        carried_by_data,
        carried_by_copy,
        carried_under_no_grad,
        carried_by_numpy,
        carried_in_place,
    ),
    "7.6": (
        epoch_flattened,
        epoch_by_hand,
        epoch_by_the_formula,
        epoch_cleared_last,
    ),
    "7.7": (
        chances_by_sorting,
        chances_cut_last,
        chances_by_hand,
        chances_row_by_row,
    ),
    "7.7b": (
        sample_filling_a_table,
        sample_into_a_list,
        sample_warming_up_first,
    ),
    "7.8": (lstm_by_torch, lstm_gate_by_gate, lstm_in_one_matrix),
    "7.9": (gru_by_torch, gru_gate_by_gate, gru_by_difference),
    "7.10": (
        influence_of_the_whole,
        influence_row_by_row,
        influence_forwards,
        influence_as_numbers,
        influence_in_double,
    ),
}
