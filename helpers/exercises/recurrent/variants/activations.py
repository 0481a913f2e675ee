"""Independent solutions to 7.P."""

import torch


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


VARIANTS = {
    "7.P": (
        slopes_by_autograd,
        slopes_by_exp,
        slopes_in_a_list,
        slopes_by_the_sign,
    ),
}
