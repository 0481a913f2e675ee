"""Independent solutions to 8.E."""

import torch
from torch import nn

from helpers.exercises.translation.variants.shared import QueryByQuery


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
    """Writes results into tables made beforehand."""

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
    """Writes the formula of attention out, with the keys computed once."""

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


VARIANTS = {
    "8.E": (ByPlaces, IntoTables, WithoutItsModule),
}
