"""The reference positions against the formula, number by number, in float64."""

import math

import pytest
import torch
import torch.nn.functional as F

from helpers.models.positions import (
    PositionalEncoding,
    TokenEmbedding,
    positional_encoding,
)

pytestmark = pytest.mark.lesson("01")
B, T, D, V = 2, 5, 6, 11


def formula(length, d_model):
    rows = torch.zeros(length, d_model, dtype=torch.float64)
    for pos in range(length):
        for column in range(d_model):
            i = column // 2
            angle = pos / 10000 ** (2 * i / d_model)
            rows[pos, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return rows


@pytest.mark.parametrize(("length", "d_model"), [(1, 2), (5, 6), (64, 16), (7, 5)])
def test_the_table_is_the_formula(length, d_model):
    expected = formula(length, d_model)
    table = positional_encoding(length, d_model, torch.float64)
    torch.testing.assert_close(table, expected, rtol=0, atol=1e-9)
    table = positional_encoding(length, d_model)
    torch.testing.assert_close(table, expected.float(), rtol=0, atol=1e-7)


def test_late_positions_are_exact_in_float32():
    """Angles of 5,000 need float64: float32 would be off by 1e-4."""
    table = positional_encoding(5000, 10)
    torch.testing.assert_close(table, formula(5000, 10).float(), rtol=0, atol=1e-7)


def test_facts_of_the_table():
    table = positional_encoding(200, 128, torch.float64)
    torch.testing.assert_close(
        table.square().sum(1), torch.full_like(table[:, 0], 64.0)
    )
    dots = table @ table.T
    for distance in range(100):
        line = dots.diagonal(distance)
        torch.testing.assert_close(line, line[:1].expand_as(line), rtol=0, atol=1e-9)
    assert len(positional_encoding(5000, 4).unique(dim=0)) == 5000


def test_the_module_adds_the_first_rows_to_every_sentence():
    x = torch.randn(B, T, D)
    expected = x + formula(T, D).float()
    result = PositionalEncoding(D, 9)(x)
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-6)


def test_the_table_moves_but_is_neither_trained_nor_saved():
    module = PositionalEncoding(D, 9)
    assert list(module.parameters()) == [] and module.state_dict() == {}
    assert module.to("meta").table.is_meta


def test_the_module_keeps_the_dtype():
    x = torch.zeros(B, T, D, dtype=torch.bfloat16)
    assert PositionalEncoding(D, 9)(x).dtype == torch.bfloat16


def test_the_module_is_as_exact_as_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        module = PositionalEncoding(D, 9)
    finally:
        torch.set_default_dtype(torch.float32)
    x = torch.zeros(B, T, D, dtype=torch.float64)
    torch.testing.assert_close(module(x)[1], formula(T, D), rtol=0, atol=1e-9)


def test_a_sequence_longer_than_the_table_is_refused():
    with pytest.raises(ValueError, match="length 5, but the table has 4 positions"):
        PositionalEncoding(D, 4)(torch.zeros(B, T, D))


def test_token_embedding_is_the_scaled_look_up():
    torch.manual_seed(0)
    embedding = TokenEmbedding(V, D).double()
    ids = torch.randint(0, V, (B, T))
    expected = F.embedding(ids, embedding.table.weight) * math.sqrt(D)
    torch.testing.assert_close(embedding(ids), expected, rtol=0, atol=1e-9)


def test_token_embedding_starts_with_variance_1_and_zero_padding():
    torch.manual_seed(0)
    vectors = TokenEmbedding(1000, 64, padding_id=0)(torch.arange(1000))
    assert not vectors[0].any()
    # 63,936 numbers: the standard error of the deviation is 0.0028, so 5 sigma is 0.014
    assert abs(vectors[1:].std().item() - 1) < 0.014


def test_how_far_apart_positions_are_in_lesson_01():
    def gaps(d_model):
        table = positional_encoding(5000, d_model, torch.float64)
        exact = "donot_use_mm_for_euclid_dist"
        return torch.cdist(table, table, compute_mode=exact).fill_diagonal_(9)

    few = gaps(4)
    assert abs(few[1127, 3012] - few.min()) < 1e-9  # as near as any 1,885 apart
    assert round(few.min().item(), 2) == 0.04
    assert round(gaps(512).min().item(), 1) == 3.7
