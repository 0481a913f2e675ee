"""The fine-tuning loop and its command: one process, two processes, one checkpoint."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from helpers import pretrained
from helpers.exercises.bert.shared import VOCAB, tiny_config
from helpers.files import locked
from helpers.reading import fine_tuning, reviews
from helpers.reading.checkpoint import Checkpoint
from helpers.reading.fine_tuning import Recipe
from tools import finetune
from tools.build.execute import quiet_environment

pytestmark = pytest.mark.lesson("09")
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT of two small layers, with the bundled tokenizer's files beside it."""
    from transformers import BertModel

    folder = tmp_path_factory.mktemp("small")
    tokenizer = pretrained.load_tokenizer()
    sizes = {"vocab_size": len(tokenizer), "num_hidden_layers": 2}
    torch.manual_seed(0)
    with pretrained.quiet():
        config = tiny_config(**sizes, hidden_size=8, max_position_embeddings=128)
        BertModel(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def rows():
    """Reviews of four tokens; the second one gives the label away."""
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(10, VOCAB, (48, 4), generator=draw)
    labels = torch.arange(48) % 5
    ids[:, 1] = labels + 4
    return [
        {"ids": row.tolist(), "label": int(label)}
        for row, label in zip(ids, labels, strict=True)
    ]


SMALL = Recipe(epochs=30, batch_size=8, rate=0.01, head_rate=0.02, frozen=0)


def small_model(dropout=0.0, **more):
    from helpers.reading.mean_classifier import MeanClassifier

    torch.manual_seed(1)
    names = ("hidden_dropout_prob", "attention_probs_dropout_prob")
    options = dict.fromkeys(names, dropout) | {"num_labels": 5} | more
    return MeanClassifier(tiny_config(**options))


def test_it_learns_what_can_be_learned(rows, capfd):
    model = small_model()
    history = fine_tuning.fine_tune(model, rows, SMALL)
    steps = 30 * 6
    assert len(history.loss) == len(history.rate) == len(history.norm) == steps
    assert history.loss[0] > 1.4 and sum(history.loss[-6:]) / 6 < 0.1
    assert history.seconds > 0 and capfd.readouterr() == ("", "")


def test_it_takes_the_steps_of_the_plain_loop(rows):
    recipe = replace(SMALL, epochs=2)
    ours, plain = small_model(), small_model()
    history = fine_tuning.fine_tune(ours, rows, recipe)
    optimizer = fine_tuning.optimizer_for(plain, recipe)
    scheduler = fine_tuning.scheduler_for(optimizer, recipe, steps=12)
    batches, losses = reviews.training_batches(rows, 8, recipe.seed), []
    for _ in range(2):
        for batch in batches:
            loss = plain.train()(**batch).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(plain.parameters(), recipe.clip)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    assert history.loss == pytest.approx(losses, abs=1e-5)
    for mine, theirs in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-4)


def test_the_rate_rises_and_falls_to_nothing(rows):
    history = fine_tuning.fine_tune(small_model(), rows, replace(SMALL, epochs=5))
    top = history.rate.index(max(history.rate))
    assert top == 2 and max(history.rate) == pytest.approx(0.01)  # a tenth of 30
    assert history.rate[:3] == pytest.approx([0.01 / 3, 0.02 / 3, 0.01])
    falls = torch.tensor(history.rate[top + 1 :]).diff()
    assert (falls < 0).all() and falls.std() < 1e-6
    assert 0 < history.rate[-1] < 0.0005


def test_a_constant_rate_on_request(rows):
    recipe = replace(SMALL, epochs=1, schedule="constant")
    assert set(fine_tuning.fine_tune(small_model(), rows, recipe).rate) == {0.01}


def test_frozen_layers_stay_and_the_others_move(rows):
    model = small_model(num_hidden_layers=2)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    fine_tuning.fine_tune(model, rows, replace(SMALL, epochs=1, frozen=1))
    for name, value in model.state_dict().items():
        still = "embeddings" in name or "layer.0." in name
        moved = not torch.equal(before[name], value)
        assert moved is not still or "key.bias" in name, name  # softmax ignores these


def test_nothing_is_frozen_unless_asked(rows):
    model = small_model()
    fine_tuning.optimizer_for(model, SMALL)
    assert all(weight.requires_grad for weight in model.parameters())


def test_the_same_seed_gives_the_same_losses(rows):
    recipe = replace(SMALL, epochs=2)

    def losses(seed):
        torch.manual_seed(0)
        one = replace(recipe, seed=seed)
        return fine_tuning.fine_tune(small_model(), rows, one).loss

    assert losses(0) == losses(0) != losses(1)


def test_dropout_is_on_while_it_trains(rows):
    recipe = replace(SMALL, epochs=1)
    plain = fine_tuning.fine_tune(small_model().eval(), rows, recipe)
    dropped = fine_tuning.fine_tune(small_model(0.4).eval(), rows, recipe)
    assert plain.loss != dropped.loss


# --- interrupted, and gone on with ----------------------------------------------------


class Killed(Exception):
    """Stands for a kill in the middle of a step."""


def until(step, rows, recipe, file):
    """Train, from a checkpoint if there is one, up to a step; None: to the end."""
    torch.manual_seed(7)
    model, kept = small_model(0.3), Checkpoint(file, {"seed": 0}, every=2)

    def stop(module, *_):
        calls.append(1)
        if step is not None and kept.step + len(calls) > step:
            raise Killed

    calls = []
    model.register_forward_pre_hook(stop)
    return model, fine_tuning.fine_tune(model, rows, recipe, checkpoint=kept)


@pytest.mark.parametrize("stops", [[1], [3], [4], [6], [7], [11], [2, 5, 5, 10]])
def test_an_interrupted_run_ends_as_an_uninterrupted_one(rows, tmp_path, stops):
    """Six steps an epoch: it stops within one, and between the two."""
    recipe, file = replace(SMALL, epochs=2), tmp_path / "state.safetensors"
    whole, expected = until(None, rows, recipe, tmp_path / "other.safetensors")
    for stop in stops:
        with pytest.raises(Killed):
            until(stop, rows, recipe, file)
        assert Checkpoint(file, {}).step == (stop - stop % 2 if stop > 1 else 0)
    torch.manual_seed(99)  # what chance did in between must not count
    model, history = until(None, rows, recipe, file)
    assert history.loss == expected.loss and len(history.loss) == 12
    assert history.rate == expected.rate and history.norm == expected.norm
    for mine, theirs in zip(model.parameters(), whole.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_a_checkpoint_is_damaged_or_of_another_run(rows, tmp_path):
    file = tmp_path / "state.safetensors"
    with pytest.raises(Killed):
        until(4, rows, replace(SMALL, epochs=2), file)
    assert Checkpoint(file, {"seed": 0}).other_facts() == []
    assert Checkpoint(file, {"seed": 1, "rate": 2}).other_facts() == ["seed", "rate"]
    file.write_bytes(file.read_bytes()[:100])
    assert Checkpoint(file, {"seed": 1}).step == 0
    assert Checkpoint(file, {"seed": 1}).other_facts() == []


# --- the command ----------------------------------------------------------------------


def run(folder, output, *before):
    """Fine-tune the small model by the command; returns losses and printed lines."""
    options = [
        "--model", folder, "--output", output, "--reviews", 48, "--epochs", 2,
        "--batch-size", 8, "--rate", 0.01, "--frozen", 0, "--dropout", 0, "--every", 4,
    ]  # fmt: skip
    command = [sys.executable, *before, "-m", "tools.finetune", *map(str, options)]
    if before:  # accelerate's launcher takes the module itself
        command = [sys.executable, *before, "--module", "tools.finetune"]
        command += map(str, options)
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=quiet_environment(ROOT) | {"PYTHONWARNINGS": "default"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    facts = json.loads((output / "history.json").read_text())
    return facts, done.stdout.splitlines()


LAUNCH = ("-m", "accelerate.commands.launch", "--num_processes", "2")
TWO = (
    *LAUNCH, "--multi_gpu", "--num_machines", "1", "--mixed_precision", "no",
    "--dynamo_backend", "no", "--main_process_port", "0",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="gloo between processes needs POSIX here")
def test_two_processes_take_the_same_way_as_one(folder, tmp_path):
    one, lines = run(folder, tmp_path / "one")
    two, two_lines = run(folder, tmp_path / "two", *TWO)
    assert "48 reviews on 1 process(es)" in lines
    assert two_lines.count("48 reviews on 2 process(es)") == 1
    assert len(one["loss"]) == len(two["loss"]) == 12
    assert two["loss"] == pytest.approx(one["loss"], rel=0, abs=1e-4)
    assert one["loss"][0] - one["loss"][-1] > 0.01  # there was something to compare
    for name in ("one", "two"):
        weights = list((tmp_path / name).glob("*.safetensors"))
        assert len(weights) == 1
    model = fine_tuning.load_classifier(str(tmp_path / "two"))
    other = fine_tuning.load_classifier(str(tmp_path / "one"))
    for mine, theirs in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-3)


@pytest.mark.slow
def test_a_launch_that_starts_one_process_says_so(folder, tmp_path):
    """`accelerate launch --cpu` starts one process, whatever number it is given."""
    small = ["--model", folder, "--output", tmp_path, "--reviews", 16, "--epochs", 1]
    done = subprocess.run(
        [sys.executable, *LAUNCH, "--cpu", "--module", "tools.finetune"]
        + list(map(str, small)),
        cwd=ROOT,
        env=quiet_environment(ROOT),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode and "just one process" in done.stderr


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("--epochs 0", "--epochs is 0: give at least 1."),
        ("--batch-size 0", "--batch-size is 0: give at least 1."),
        ("--frozen -1", "--frozen is -1: give at least 0."),
        ("--fold 9", "--fold is 9: give 0 to 4."),
        ("--rate 0", "--rate is 0.0: give a number between 0 and 1."),
        ("--dropout 7", "--dropout is 7.0: give a number from 0 to below 1."),
        ("--reviews 15", "--reviews is 15: give at least a batch, 16."),
        ("--model nowhere", "--model is nowhere, and there is no config.json in it"),
        ("--every 0", "--every is 0: give at least 1."),
        ("--output README.md", "--output is README.md, where no folder can be made"),
        (
            "--output .",
            "--output is ., which holds something else than a result",
        ),
    ],
)
def test_a_wrong_option_is_one_clear_sentence_before_it_trains(
    wrong, sentence, capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").touch()
    assert finetune.main(wrong.split()) == 2
    said = capsys.readouterr()
    assert (
        said.out == "" and said.err.startswith(sentence) and said.err.count("\n") == 1
    )
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


def test_a_batch_is_a_multiple_of_the_processes():
    options = finetune.options_of(["--batch-size", "16"])
    assert "give a multiple" in finetune.complaint(options, processes=3)


# --- the folder of the result ---------------------------------------------------------


class Chance:
    """Kills the process, or fails, at one of the calls that change the folder."""

    def __init__(self, monkeypatch, at):
        self.left = at
        for owner, name in ((Path, "rename"), (shutil, "rmtree")):
            monkeypatch.setattr(owner, name, self.counted(getattr(owner, name)))

    def counted(self, call):
        def counted(*arguments, **more):
            self.left -= 1
            if self.left == 0:
                raise Killed
            return call(*arguments, **more)

        return counted


@pytest.mark.parametrize("at", range(1, 7))
def test_a_result_is_there_whole_or_not_at_all(tmp_path, monkeypatch, at):
    output, result = tmp_path / "reviews", tmp_path / "result"
    for folder, text in ((output, "old"), (result, "new")):
        folder.mkdir()
        for name in ("config.json", finetune.HISTORY):
            (folder / name).write_text(text)
    (output / "mine.txt").write_text("mine")
    with monkeypatch.context() as patch:
        Chance(patch, at)
        try:
            finetune.put_in_place(result, output)
        except Killed:
            pass
    names = ("config.json", finetune.HISTORY)
    if output.exists():
        assert len({(output / name).read_text() for name in names}) == 1
    finetune.settle(output)  # what the next run begins with
    whole = {(output / name).read_text() for name in names}
    assert whole == ({"old"} if result.exists() else {"new"})
    assert (output / "mine.txt").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} <= {"reviews", "result"}


def arguments(folder, output, *more):
    options = [
        "--model", folder, "--output", output, "--reviews", 48, "--epochs", 2,
        "--batch-size", 8, "--rate", 0.01, "--frozen", 0, "--dropout", 0.2,
        "--every", 2, *more,
    ]  # fmt: skip
    return list(map(str, options))


KILLED = """
import os, signal, sys
from helpers.reading.checkpoint import Checkpoint
from tools import finetune
save = Checkpoint._save
def save_and_die(self, step, *rest):
    save(self, step, *rest)
    if step == 8:
        os.kill(os.getpid(), signal.SIGKILL)
Checkpoint._save = save_and_die
finetune.main(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_killed_command_goes_on_and_ends_as_if_nothing_had_been(
    folder, tmp_path, capsys
):
    assert finetune.main(arguments(folder, tmp_path / "whole")) == 0
    killed = arguments(folder, tmp_path / "killed")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *killed],
        cwd=ROOT,
        env=quiet_environment(ROOT),
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    assert not (tmp_path / "killed").exists()
    other = arguments(folder, tmp_path / "killed", "--seed", 1)
    assert finetune.main(other) == 2
    assert "unfinished run with another seed" in capsys.readouterr().err
    assert finetune.main(killed) == 0
    assert "an unfinished run goes on after step 8" in capsys.readouterr().out
    whole, again = (
        json.loads((tmp_path / name / "history.json").read_text())
        for name in ("whole", "killed")
    )
    assert again == whole and len(again["loss"]) == 12
    assert {p.name for p in tmp_path.iterdir() if p.name[0] != "."} == {
        "whole",
        "killed",
    }


@pytest.mark.slow
def test_a_second_run_in_one_folder_is_refused(folder, tmp_path, capsys):
    output = tmp_path / "reviews"
    with locked(tmp_path / ".reviews.lock"):
        assert finetune.main(arguments(folder, output)) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err == (
        f"Another fine-tuning is at work on {output}: wait until it has ended, or give "
        "another --output.\n"
    )
    assert finetune.main(arguments(folder, output)) == 0
    assert finetune.main(arguments(folder, output)) == 0  # over the earlier result


@pytest.mark.slow
def test_a_full_disk_costs_neither_the_old_result_nor_the_state(
    folder, tmp_path, capsys, monkeypatch
):
    resource = pytest.importorskip("resource")
    output, train = tmp_path / "reviews", fine_tuning.fine_tune
    assert finetune.main(arguments(folder, output)) == 0
    before = {path.name: path.read_bytes() for path in output.iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill_up_and_train(*given, **more):
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        return train(*given, **more)

    monkeypatch.setattr(fine_tuning, "fine_tune", fill_up_and_train)
    try:
        assert finetune.main(arguments(folder, output, "--seed", 1)) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    said = capsys.readouterr().err
    assert said.startswith("Could not save to") and said.count("\n") == 1
    assert {path.name: path.read_bytes() for path in output.iterdir()} == before
