"""BERT's head and its masked language model, against the library's."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers import pretrained
from helpers.models.bert import MaskedLanguageHead, MaskedLanguageModel
from helpers.models.encoder import bert_encoder

pytestmark = pytest.mark.lesson("09")


@pytest.fixture(scope="module")
def theirs():
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=37,
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=20,
        max_position_embeddings=16,
    )
    torch.manual_seed(0)
    with pretrained.quiet():
        model = BertForMaskedLM(config).double().eval()
    for name, weight in model.named_parameters():
        start = 1.0 if "LayerNorm.weight" in name else 0.0
        nn.init.normal_(weight, start, 0.3)
    return model


@pytest.fixture(scope="module")
def ours(theirs):
    body = bert_encoder(theirs.bert.state_dict(), num_heads=3)
    model = MaskedLanguageModel(body).double().eval()
    head, source = model.head, theirs.cls.predictions
    head.dense.load_state_dict(source.transform.dense.state_dict())
    head.norm.load_state_dict(source.transform.LayerNorm.state_dict())
    with torch.no_grad():
        head.decoder.bias.copy_(source.bias)
    return model


def test_the_model_gives_the_librarys_logits(ours, theirs):
    ids = torch.randint(1, 37, (3, 7), generator=torch.Generator().manual_seed(1))
    real = torch.arange(7) < torch.tensor([7, 4, 5])[:, None]
    chosen = real & (torch.arange(7) % 2 == 0)
    with torch.no_grad():
        expected = theirs(ids, attention_mask=real.long()).logits[chosen]
        found = ours(ids, real[:, None, None], chosen)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


def test_the_table_of_words_is_shared(ours):
    table = ours.encoder.embedding.table.weight
    assert ours.head.decoder.table is table
    assert sum(weight is table for weight in ours.parameters()) == 1


def test_the_head_is_the_formula():
    torch.manual_seed(0)
    head, x = MaskedLanguageHead(5, 11).double(), torch.randn(2, 3, 5).double()
    bent = F.gelu(head.dense(x))
    normal = (bent - bent.mean(-1, keepdim=True)) / (
        bent.var(-1, keepdim=True, unbiased=False) + 1e-12
    ).sqrt()
    torch.testing.assert_close(head(x), head.decoder(normal), rtol=0, atol=1e-9)
    assert head(x).shape == (2, 3, 11)
