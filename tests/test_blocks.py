"""GPT-2's block against today's: the parts that go back, and a run in miniature."""

import math
from dataclasses import asdict, replace

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from helpers.experiments.taken_back import (
    BIASES,
    FEED,
    HEADS,
    NORM,
    PARTS,
    POSITIONS,
    TIED,
    at_size,
    taken_back,
)
from helpers.models.gpt import GPT, GPTConfig
from helpers.models.modern import ModernConfig
from tools.build.stubs import LessonError
from tools.experiments import __main__ as tool
from tools.experiments import blocks
from tools.experiments.blocks import NEW, OLD, Plan
from tools.experiments.declared import EXPERIMENTS
from tools.pretrain import stories
from tools.pretrain.settings import END

pytestmark = pytest.mark.lesson("12")
CONFIG = ModernConfig(
    17, max_length=11, d_model=12, num_heads=3, num_kv_heads=1, d_head=4, num_layers=2,
    d_ff=48, eps=1e-5,
)  # fmt: skip
IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 5, 8, 9, 7]])
TINY = Plan(
    d_model=24, num_layers=3, num_heads=2, num_kv_heads=1, vocab_size=300, stories=30,
    context=32, batch_size=2, steps=5, warm_up=2, every=2, rows=4,
)  # fmt: skip
ALONE = {  # a part -> what its model has and today's has not, or the other way round
    NORM: {"norm.bias", "layers.0.norm1.bias", "layers.1.norm2.bias"},
    POSITIONS: {"positions.weight"},
    FEED: {"layers.0.feed_forward.W_1.weight", "layers.1.feed_forward.W_up.weight"},
    HEADS: set(),
    BIASES: {"layers.0.attention.W_k.bias", "layers.1.feed_forward.W_gate.bias"},
    TIED: {"output.weight"},
}


def weights_of_gpt2(theirs):
    """The state of a GPT under the names of today's decoder."""
    state = {}
    for name, value in theirs.state_dict().items():
        if "to_qkv" in name:
            for one, part in zip("qkv", value.chunk(3), strict=True):
                state[name.replace("to_qkv", f"W_{one}")] = part
        else:
            state[name] = value
    return state


def test_with_all_parts_back_it_is_gpt2():
    draw = torch.Generator().manual_seed(12)
    theirs = GPT(GPTConfig(17, 11, 12, 3, 2)).double().eval()
    with torch.no_grad():
        for value in theirs.parameters():
            numbers = torch.randn(value.shape, generator=draw, dtype=torch.float64)
            value.copy_(0.3 * numbers)
    mine = taken_back(PARTS, CONFIG).double().eval()
    mine.load_state_dict(weights_of_gpt2(theirs))
    assert (mine(IDS) - theirs(IDS)).abs().max() < 1e-12
    cache = mine.new_cache(2)
    found = torch.cat([mine(some, cache) for some in IDS.split((4, 3), 1)], 1)
    assert (found - theirs(IDS)).abs().max() < 1e-12


@pytest.mark.parametrize("part", PARTS)
def test_a_part_goes_back_alone(part):
    today = dict(taken_back((), CONFIG).named_parameters())
    back = dict(taken_back((part,), CONFIG).named_parameters())
    assert ALONE[part] <= today.keys() ^ back.keys()
    others = {name for one in PARTS if one != part for name in ALONE[one]}
    assert not others & (today.keys() ^ back.keys())
    biased = any("W_" in name and name.endswith("bias") for name in back)
    assert biased == (part == BIASES)
    heads = back["layers.0.attention.W_v.weight"].shape[0] // CONFIG.d_head
    assert heads == (3 if part == HEADS else 1)
    for name, value in back.items():
        if value.ndim == 2:
            assert 0.01 < value.std() < 0.04, name


@pytest.mark.parametrize("name", [NEW, *PARTS])
def test_models_are_of_one_size(name):
    with torch.device("meta"):
        sizes = [blocks.count(blocks.build(one, Plan(), 0)) for one in (OLD, name)]
    assert abs(sizes[0] - sizes[1]) < 0.01 * sizes[0]


def test_what_is_not_there_is_refused():
    with pytest.raises(ValueError, match="'rotation' is not among the parts"):
        taken_back(("rotation",), CONFIG)
    with pytest.raises(ValueError, match="300 parameters, but 1,308 with a width of 1"):
        at_size((), CONFIG, 300)
    with pytest.raises(LessonError, match="blocks has no setting 'width'; it has d_mo"):
        blocks.compare(0, width=3)


# --- a run in miniature ---------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The tokens of a few stories."""
    patch = pytest.MonkeyPatch()
    patch.setattr(stories, "HELD_OUT_STORIES", 6)
    patch.setattr(stories.held_out_stories, "__defaults__", (6,))
    place = tmp_path_factory.mktemp("blocks")
    blocks.text(TINY, place)
    patch.undo()
    return place


def test_bits_are_counted_per_byte_that_is_spelt(folder):
    _, rows, lengths = blocks.text(TINY, folder)
    tokenizer = Tokenizer.from_file(str(folder / "text-300-30" / "tokenizer.json"))
    spelt = "".join(
        tokenizer.decode(row, skip_special_tokens=True) for row in rows[:, 1:].tolist()
    )
    assert lengths[tokenizer.token_to_id(END)] == 0
    assert END not in spelt and lengths[rows[:, 1:]].sum() == len(spelt.encode())

    class Even(torch.nn.Module):
        def forward(self, ids):
            return torch.zeros(*ids.shape, TINY.vocab_size)

    wanted = rows[:, 1:].numel() * math.log2(TINY.vocab_size) / len(spelt.encode())
    assert blocks.bits_per_byte(Even(), rows, lengths) == pytest.approx(wanted)


def test_no_held_out_story_is_trained_on(folder):
    tokens = load_file(folder / "text-300-30" / "tokens.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "text-300-30" / "tokenizer.json"))
    train, held_out = (
        tokenizer.decode(tokens[name].tolist(), skip_special_tokens=False).split(END)
        for name in ("train", "held_out")
    )
    assert len(train) == 31 and len(held_out) == 7
    assert not set(train[1:]) & set(held_out[1:])


def test_the_rate_rises_and_falls_to_almost_nothing():
    plan = replace(TINY, steps=100, warm_up=10)
    rates = [blocks.rate_at(0.5, plan, step) for step in range(1, 101)]
    assert rates[0] == pytest.approx(0.05)
    assert max(rates) == rates[9] > 0.48
    assert rates == sorted(rates[:10]) + sorted(rates[10:], reverse=True)
    assert 0 < rates[-1] < 0.001


def test_a_run_is_whole_and_goes_on_where_it_stopped(folder, monkeypatch):
    monkeypatch.setattr(blocks, "RATES", (0.001, 0.01))
    row = blocks.compare(1, folder, **asdict(TINY))
    assert all(0.5 < row[name] < 30 for name in blocks.COLUMNS)
    assert len({row[name] for name in (OLD, NEW, *map(blocks.BACK.format, PARTS))}) == 8
    for name in (OLD, NEW):
        curve = row["curves"][name]
        assert curve["step"] == [0, 2, 4, 5]
        assert curve["bits"][-1] == row[name] < curve["bits"][0]
        assert row[blocks.EQUAL.format(name)] >= row[name]
    cut = sorted(row[blocks.EQUAL.format(name)] - row[name] for name in (OLD, NEW))
    assert cut[0] == 0 < cut[1]  # the slower one
    slower = max(row["cost"], key=row["cost"].get)
    assert row[blocks.EQUAL.format(slower)] > row[slower]
    runs = sorted(folder.glob("*/*.json"))
    runs = [file for file in runs if "-" in file.stem]
    # Rates are tried with seed 0, the best ones and the parts with this seed.
    assert len(runs) == 2 * 2 + 2 + len(PARTS)

    shorter = blocks.teach(OLD, 0.001, 1, replace(TINY, steps=2), folder)
    assert shorter["step"] == [0, 2]  # another plan is another result

    taught = []
    whole = blocks.train
    monkeypatch.setattr(
        blocks, "train", lambda *a, **k: taught.append(k["name"]) or whole(*a, **k)
    )
    assert blocks.compare(1, folder, **asdict(TINY)) == row and not taught
    next(file for file in runs if file.name.startswith("biases")).unlink()
    again = blocks.compare(1, folder, **asdict(TINY))
    assert again[blocks.BACK.format(BIASES)] == row[blocks.BACK.format(BIASES)]
    assert {name.split(",")[0] for name in taught} == {BIASES}


def test_the_tables_say_what_was_found(folder, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(blocks, "RATES", (0.001, 0.01))
    settings = [f"{name}={value}" for name, value in asdict(TINY).items()]
    wanted = ["blocks", "--seeds", "1", "--set", *settings, f"folder={str(folder)!r}"]
    assert tool.main(wanted, tmp_path / "experiments.md") == 0
    said = capsys.readouterr().out
    assert "| seed | GPT-2's block | today's block |" in said
    assert (
        "| step | GPT-2's block, bits per byte | GPT-2's block, processor seconds |"
        in said
    )
    assert "Best rate of today's block: 0.0" in said
    assert tool.main(["blocks", "--seeds", "1", "--set", "width=3"]) == 2
    assert "no setting 'width'" in capsys.readouterr().err


def test_it_claims_nothing_yet():
    assert EXPERIMENTS["blocks"].claim.startswith("How many")
