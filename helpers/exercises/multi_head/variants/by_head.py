"""Independent solutions to 3.K."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class HeadsInAList(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_head: int) -> None:
        super().__init__()

        def layers() -> nn.ModuleList:
            return nn.ModuleList([nn.Linear(d_model, d_head) for _ in range(num_heads)])

        self.W_o = nn.Linear(d_head * num_heads, d_model)
        self.W_v, self.W_k, self.W_q = layers(), layers(), layers()

    def forward(self, x):
        maps = [
            (q(x) @ k(x).mT / q.out_features**0.5).softmax(-1)
            for q, k in zip(self.W_q, self.W_k, strict=True)
        ]
        found = [m @ v(x) for m, v in zip(maps, self.W_v, strict=True)]
        return self.W_o(torch.cat(found, -1)), torch.stack(maps, 1)


class HeadsStacked(HeadsInAList):
    """All small layers applied at once, by stacking their weights."""

    def forward(self, x):
        def project(layers: nn.ModuleList) -> Tensor:
            return torch.stack([layer(x) for layer in layers], dim=1)

        q, k, v = project(self.W_q), project(self.W_k), project(self.W_v)
        weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
        return self.W_o((weights @ v).permute(0, 2, 1, 3).flatten(2)), weights


class HeadsAdded(HeadsInAList):
    """The output projection cut into parts: the same sum, written per head."""

    def forward(self, x):
        output, maps = self.W_o.bias, []
        parts = self.W_o.weight.chunk(len(self.W_q), dim=1)
        for q, k, v, part in zip(self.W_q, self.W_k, self.W_v, parts, strict=True):
            maps.append(F.softmax(q(x) @ k(x).mT * k.out_features**-0.5, -1))
            output = output + maps[-1] @ v(x) @ part.T
        return output, torch.stack(maps, 1)


VARIANTS = {
    "3.K": (HeadsInAList, HeadsStacked, HeadsAdded),
}
