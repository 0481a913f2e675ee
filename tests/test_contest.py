"""A GPT behind lesson 07's interface: the same text, the same measure."""

import math

import pytest
import torch

from helpers.experiments import character_contest as contest
from helpers.experiments.character_models import bits_per_character
from helpers.models.gpt import GPT, GPTConfig

pytestmark = pytest.mark.lesson("10")
CONFIG = GPTConfig(vocab_size=9, max_length=8, d_model=12, num_heads=3, num_layers=1)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return GPT(CONFIG).eval()


@pytest.fixture
def ids():
    return torch.randint(9, (31,), generator=torch.Generator().manual_seed(1))


def test_the_state_is_what_was_read_last(model, ids):
    reader = contest.AsRecurrent(model)
    first, state = reader(ids[None, :4])
    assert torch.equal(first, model(ids[None, :4]))
    assert torch.equal(state, ids[None, :4])
    second, state = reader(ids[None, 4:8], state)
    assert torch.allclose(second, model(ids[None, :8])[:, 4:], atol=1e-6)
    assert torch.equal(state, ids[None, 4:8])


def test_bits_are_the_mean_over_all_characters(model, ids):
    reader = contest.AsRecurrent(model)
    nats = []
    for place in range(1, len(ids)):
        begin = max(0, (place - 1) // 4 * 4 - 4)  # half a window before this piece
        logits = model(ids[None, begin:place])[0, -1]
        nats.append(-logits.log_softmax(-1)[ids[place]].item())
    wanted = sum(nats) / len(nats) / math.log(2)
    assert bits_per_character(reader, ids, reader.keep) == pytest.approx(wanted)


def test_windows_are_pieces_of_the_text(ids):
    pieces = contest.windows(ids, 50, 5, seed=2)
    text = ids.tolist()
    rows = [*next(pieces).tolist(), *next(pieces).tolist()]
    places = {n for n in range(26) for row in rows if text[n : n + 6] == row}
    assert all(any(text[n : n + 6] == row for n in range(26)) for row in rows)
    assert {0, 25} <= places  # the first and the last piece occur
    with pytest.raises(ValueError, match="31 tokens have no window of 32"):
        next(contest.windows(ids, 2, 31, seed=0))


def test_training_learns_and_measures(model):
    ids = torch.arange(9).repeat(20)
    history = contest.train_gpt(
        model, ids, 45, batch_size=8, rate=0.02, held_out=ids[:30], every=20
    )
    assert history.steps == [0, 20, 40, 45] and len(history.loss) == 45
    assert history.bits[0] > 3 and history.bits[-1] < 2.2
    assert history.rate[-1] < 1e-3 and history.times[-1] == history.seconds
