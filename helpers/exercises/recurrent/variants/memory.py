"""Independent solutions to 7.M."""

import torch


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
    "7.M": (
        influence_of_the_whole,
        influence_row_by_row,
        influence_forwards,
        influence_as_numbers,
        influence_in_double,
    ),
}
