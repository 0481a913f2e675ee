"""The recall task, and scores of heads on weights made by hand."""

import pytest
import torch
from torch import nn

from helpers.experiments import recall
from helpers.experiments.recall import RecallTask, lookup_score, previous_token_score
from helpers.models.gpt import GPTConfig
from helpers.models.recurrent import CharacterModel

pytestmark = pytest.mark.lesson("10")
TASK = RecallTask(pairs=5, keys=9, values=4)


@pytest.fixture
def batch():
    return TASK.batch(50, torch.Generator().manual_seed(3))


def test_a_text_tells_pairs_and_asks_for_each_key_once(batch):
    ids, answers = batch
    assert ids.shape == (50, TASK.length) and answers.shape == (50, 5)
    for row, right in zip(ids.tolist(), answers.tolist(), strict=True):
        told = dict(zip(row[:10:2], row[1:10:2], strict=True))
        assert len(told) == 5 and max(told) < 9
        assert all(9 <= value < TASK.vocab_size for value in told.values())
        assert sorted(row[10:]) == sorted(told)
        assert right == [told[key] for key in row[10:]]


def test_queries_are_shuffled_and_pairs_are_new(batch):
    ids, _ = batch
    assert (ids[:, 10:] != ids[:, :10:2]).any(1).float().mean() > 0.9
    assert len({tuple(row) for row in ids.tolist()}) == 50


def test_batches_depend_on_the_seed_alone():
    one, other, third = (next(TASK.batches(4, seed)) for seed in (1, 1, 2))
    assert torch.equal(one[0], other[0]) and torch.equal(one[1], other[1])
    assert not torch.equal(one[0], third[0])


def test_places_where_keys_were_told(batch):
    ids, answers = batch
    places = recall.told_at(ids, 5)
    assert torch.equal(ids.gather(1, places), ids[:, 10:])
    assert torch.equal(ids.gather(1, places + 1), answers)


class Perfect(nn.Module):
    """Looks everything up; sure of it only where it is asked to be."""

    def __init__(self, right=1.0, pair=False):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(right))
        self.pair = pair

    def forward(self, ids):
        logits = torch.zeros(*ids.shape, TASK.vocab_size)
        answers = ids.gather(1, recall.told_at(ids, 5) + 1)
        logits[:, 10:].scatter_(-1, answers[..., None], 1.0)
        logits = logits * self.scale
        return (logits, None) if self.pair else logits


def test_accuracy_and_loss_look_at_the_queries(batch):
    assert recall.recall_accuracy(Perfect(), TASK, size=20) == 1.0
    assert recall.recall_accuracy(Perfect(pair=True), TASK, size=20) == 1.0
    assert recall.recall_accuracy(Perfect(-1.0), TASK, size=20) == 0.0
    assert recall.recall_loss(Perfect(50.0), batch).item() < 1e-6
    wanted = torch.tensor(TASK.vocab_size - 1 + torch.e).log() - 1
    assert abs(recall.recall_loss(Perfect(), batch).item() - wanted.item()) < 1e-5


def test_accuracy_leaves_the_mode_as_it_was():
    model = Perfect().train()
    recall.recall_accuracy(model, TASK, size=3)
    assert model.training


def test_a_head_that_looks_one_back():
    weights = torch.zeros(2, 3, 15, 15)
    places = torch.arange(1, 15)
    weights[:, 1, places, places - 1] = 1.0
    weights[0, 2, places, places - 1] = 0.5
    assert previous_token_score(weights).tolist() == [0.0, 1.0, 0.25]


def test_a_head_that_looks_up(batch):
    ids, _ = batch
    weights = torch.zeros(50, 2, 15, 15)
    answers = recall.told_at(ids, 5) + 1
    weights[:, 1, 10:].scatter_(-1, answers[..., None], 0.75)
    weights[:, 0, :10] = 1.0
    assert lookup_score(weights, ids, 5).tolist() == [0.0, 0.75]


SMALL = RecallTask(pairs=2, keys=4, values=3)


def small_gpt():
    torch.manual_seed(0)
    return recall.RecallGPT(GPTConfig(SMALL.vocab_size, SMALL.length, 16, 2, 2))


def test_training_learns_and_measures():
    seconds, right = recall.train_to_recall(small_gpt(), SMALL, 43, seed=0, parts=4)
    assert len(seconds) == len(right) == 5 and seconds == sorted(seconds)
    assert right[-1] > right[0] + 0.1
    again = recall.train_to_recall(small_gpt(), SMALL, 43, seed=0, parts=4)[1]
    assert again == right


@pytest.mark.parametrize("model", [small_gpt(), CharacterModel(7, 12)])
def test_every_parameter_has_one_optimizer(model):
    muon, adam = (rule.optimizer for rule in recall._optimizers(model, 10))
    groups = [one.param_groups[0]["params"] for one in (muon, adam)]
    held = [id(value) for group in groups for value in group]
    assert sorted(held) == sorted(id(value) for value in model.parameters())
    assert all(value.dim() == 2 for value in groups[0]) and groups[0]
    table = model.embedding if isinstance(model, recall.RecallGPT) else model.output
    assert any(value is table.weight for value in groups[1])


def test_the_scoring_layer_is_its_own(batch):
    model = small_gpt()
    assert model.head.weight is not model.embedding.weight
    ids = batch[0] % 7
    x = model.last_vectors(ids[:, :6])
    assert torch.equal(model(ids[:, :6]), model.head(x))
    assert model.embedding.weight.std() > 0.5
