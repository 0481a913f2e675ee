"""What several of these solutions share."""

import math

import torch


def encoding_by_logarithms(length, d_model):
    table = torch.zeros(length, d_model)
    position = torch.arange(0, length, dtype=torch.float).unsqueeze(1)
    rate = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return table


def encoding_by_loops(length, d_model):
    table = torch.empty(length, d_model)
    for pos in range(length):
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            table[pos, 2 * i] = math.sin(angle)
            table[pos, 2 * i + 1] = math.cos(angle)
    return table


def _angles_in_float64(length, d_model):
    column = torch.arange(d_model, dtype=torch.float64)
    position = torch.arange(length, dtype=torch.float64)
    angle = torch.outer(position, 10000 ** -((column // 2) * 2 / d_model))
    return angle + column % 2 * math.pi / 2


def encoding_stacked(length, d_model):
    pair = torch.arange(d_model // 2)
    angle = torch.arange(length)[:, None] * 1e4 ** (-2 * pair / d_model)
    return torch.stack((angle.sin(), angle.cos()), dim=2).reshape(length, d_model)
