"""Independent solutions to 8.D."""

import torch

from helpers.exercises.translation.variants.shared import Maps, QueryByQuery


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


VARIANTS = {
    "8.D": (QueryByQuery, ByEinsum, ByExponentials, Joined),
}
