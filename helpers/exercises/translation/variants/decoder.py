"""Independent solutions to 8.B."""

import torch
import torch.nn.functional as F
from torch import nn


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


VARIANTS = {
    "8.B": (StepByStepDecoder, TimeFirstDecoder, WrittenOutDecoder),
}
