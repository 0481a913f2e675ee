"""Independent solutions to 7.G."""

import torch


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


VARIANTS = {
    "7.G": (
        carried_by_data,
        carried_by_copy,
        carried_under_no_grad,
        carried_by_numpy,
        carried_in_place,
    ),
}
