"""The bundled GPT-2 checkpoint, and a miniature of the tool that trains it."""

import json
import math
import random
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from logging import StreamHandler

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Tokenizer
from transformers.utils import logging

from tools.pretrain import card, corpus, export, prose, settings, training
from tools.pretrain.__main__ import main
from tools.pretrain.settings import TARGET, Settings

TINY = Settings(
    vocab_size=320,
    context=96,
    d_model=16,
    num_layers=1,
    num_heads=2,
    dropout=0.1,
    batch_size=5,
    steps=40,
    warmup_steps=5,
    decay=0.3,
    bfloat16=False,
    evaluate_every=3,
    evaluate_rows=7,
    checkpoint_every=7,
    held_out_one_in=3,
)
POOL = [f"package{number}" for number in range(30)]
HELD_OUT = [name for name in POOL if corpus.is_held_out(name, 3)][:2]
NAMES = [*HELD_OUT, *(name for name in POOL[:3] if name not in HELD_OUT)]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """The number of threads decides the last digits of a sum."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    yield
    torch.set_num_threads(before)


def sentence(rng: random.Random) -> str:
    """An English sentence, new for each state of the generator."""
    nouns = "reader window matrix server parser letter garden engine signal number"
    adjectives = "small empty green broken closed silent early second public narrow"
    verbs = "opens checks moves draws sends keeps counts finds splits joins"
    noun, adjective, verb = (
        lambda words=words: rng.choice(words.split())
        for words in (nouns, adjectives, verbs)
    )
    return (
        f"The {adjective()} {noun()} {verb()} the {adjective()} {noun()} "
        f"when a {noun()} is {adjective()} and {verb()} the {noun()}."
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site-packages folder of five packages with docstrings."""
    root = tmp_path_factory.mktemp("site")
    for seed, name in enumerate(NAMES):
        write_package(root, name, seed)
    return root


def write_package(root, name, seed, version="1.0"):
    rng = random.Random(seed)
    functions = "\n".join(
        f'def f{i}():\n    """{sentence(rng)} {sentence(rng)}"""\n' for i in range(40)
    )
    info = root / f"{name}-{version}.dist-info"
    for folder in root / name, info:
        folder.mkdir(exist_ok=True)
    (root / name / "__init__.py").write_text(functions)
    (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text(f"{name}/__init__.py,,\n")


@pytest.fixture(scope="module")
def prepared(site, tmp_path_factory):
    """A run's folder with corpus, tokenizer and tokens, before training."""
    folder = tmp_path_factory.mktemp("prepared")
    corpus.prepare(folder, site, TINY)
    return folder


@pytest.fixture(scope="module")
def trained(prepared, tmp_path_factory):
    """A run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("trained")
    shutil.copytree(prepared, folder, dirs_exist_ok=True)
    training.train(folder, TINY)
    return folder


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory):
    """What the run exports."""
    target = tmp_path_factory.mktemp("exported")
    export.export(trained, target)
    return target


# --- prose ---------------------------------------------------------------------------

DOCSTRING = """Compute the mean of an array along the given axis. It may well be empty.

    The :class:`~ndarray` is *not* copied; see `the guide <https://x.org/a>`_ for
    the reasons behind this, and [the other guide](https://x.org) for the rest [1]_.

    Parameters
    ----------
    axis : int, optional
        The axis along which the mean is computed. By default it is the last one.
    out : ndarray
        Result.

    .. note:: ignored head
        This line belongs to a note and it is kept. So is the sentence after it.

    .. math:: This formula is dropped. It is not the prose of a person.

    For example, this introduces a block of code that is dropped::

        x = numpy.mean(values)  # This is a comment. It is not to be kept.

    ```python
    print("This is a string of a program. It should not be kept.")
    ```

    >>> numpy.mean([1, 2])
    This is the output of a doctest. It should not be kept at all.

    ======  ======
    name    amount
    bread   3
    """


def test_prose_of_a_docstring():
    assert list(prose.prose(DOCSTRING)) == [
        "Compute the mean of an array along the given axis. It may well be empty.",
        "The ndarray is not copied; see the guide for the reasons behind this, and the "
        "other guide for the rest.",
        "The axis along which the mean is computed. By default it is the last one.",
        "This line belongs to a note and it is kept. So is the sentence after it.",
    ]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("The file is opened for reading if it exists.", True),
        ("Returns the value of max_depth that was given to the tree.", True),
        ("the file is opened for reading if it exists.", False),
        ("The file is opened for reading if it exists", False),
        ("See the page at https://example.org for all of the details.", False),
        ("The value of x = 3 is used for all of the rows.", False),
        ("Call os.path.join to put the parts of a path together.", False),
        ("Tokens tensors labels logits batches heads.", False),
        ("It is so.", False),
    ],
)
def test_is_english(text, verdict):
    assert prose.is_english(text) is verdict


def test_sentences_do_not_end_at_an_abbreviation():
    text = "This is shown in Fig. 3 by A. Turing. The rest follows."
    assert prose.sentences(text) == [
        "This is shown in Fig. 3 by A. Turing.",
        "The rest follows.",
    ]


def test_docstrings_are_read_and_never_run():
    source = (
        '"""Module."""\nraise SystemExit\n'
        'def f():\n    "Function."\n    x = "not a docstring"\n'
        'add_newdoc("numpy", "mean", """Given to a function.""")\n'
    )
    texts = list(corpus.docstrings(source))
    assert {"Module.", "Function.", "Given to a function."} <= set(texts)
    assert "not a docstring" not in texts
    assert list(corpus.docstrings('"""broken"""\ndef')) == []


def test_near_copies_are_not_new():
    new = corpus.Novelty()
    words = [f"word{i}" for i in range(40)]
    assert new(" ".join(words))
    assert not new(" ".join(words).upper())
    assert not new(" ".join([*words[:39], "other"]))
    assert new(" ".join(words[20:] + words[:20][::-1] + words[::-1]))


def test_a_package_is_wholly_in_one_split(prepared, site):
    rows = corpus.read_corpus(prepared)
    splits = {(row["package"], row["held_out"]) for row in rows}
    assert splits == {(name, name in HELD_OUT) for name in NAMES}


def test_vendored_copies_are_not_read(tmp_path):
    write_package(tmp_path, "host", seed=1)
    record = tmp_path / "host-1.0.dist-info" / "RECORD"
    record.write_text(record.read_text() + "host/_vendor/guest.py,,\n../bin/x.py,,\n")
    (package,) = corpus.installed_packages(tmp_path)
    assert [file.name for file in package.files] == ["__init__.py"]


# --- training ------------------------------------------------------------------------


def test_rate_rises_stays_and_falls():
    settings = replace(TINY, steps=100, warmup_steps=10, decay=0.3)
    rates = [training.rate(step, settings) for step in (0, 5, 10, 50, 70, 85, 100)]
    assert rates == pytest.approx([0, 0.5, 1, 1, 1, 0.5, 0], abs=1e-12)


def test_an_epoch_shows_every_row_once_and_the_next_in_another_order():
    tokens = torch.arange(1000)
    per_epoch = (1000 - 2 * TINY.context) // TINY.context // TINY.batch_size

    def epoch(number):
        steps = range(number * per_epoch, (number + 1) * per_epoch)
        return torch.cat([training.batch_at(step, tokens, TINY) for step in steps])

    first, second = epoch(0), epoch(1)
    assert first.shape == (per_epoch * TINY.batch_size, TINY.context + 1)
    assert len(first[:, :-1].unique()) == first[:, :-1].numel()
    assert not torch.equal(first, second)
    assert torch.equal(first, epoch(0))


def test_losses_equal_those_of_transformers():
    model = training.build_model(TINY).eval()
    rows = torch.randint(TINY.vocab_size, (3, 12))
    with torch.no_grad():
        expected = model(input_ids=rows, labels=rows).loss
        losses = training.token_losses(model, rows)
    assert losses.shape == (3, 11)
    torch.testing.assert_close(losses.mean(), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("length", [2, 96, 97, 98, 200])
def test_perplexity_equals_a_loop_over_tokens(length):
    model = training.build_model(TINY).eval()
    tokens = torch.randint(TINY.vocab_size, (length,))
    total = 0.0
    for position in range(1, length):
        start = (position - 1) // TINY.context * TINY.context
        with torch.no_grad():
            logits = model(input_ids=tokens[None, start:position]).logits[0, -1]
        total -= logits.log_softmax(-1)[tokens[position]].item()
    expected = math.exp(total / (length - 1))
    assert export.perplexity(model, tokens) == pytest.approx(expected, rel=1e-5)


CHILD = """
import json, os, signal, sys, torch
from itertools import count
from pathlib import Path
from tools.pretrain import settings, training

torch.set_num_threads(1)
update, number = training.Trainer.update, count(1)
def until_killed(self):
    if next(number) == 14:  # the last point of the curve is 12, the last checkpoint 7
        os.kill(os.getpid(), signal.SIGKILL)
    return update(self)
training.Trainer.update = until_killed
training.train(Path(sys.argv[1]), settings.Settings(**json.loads(sys.argv[2])))
"""


def points(folder) -> list[dict]:
    """The curve of a run without its times."""
    lines = (folder / "curve.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(p).items() if k != "seconds"} for p in lines]


@pytest.mark.slow
def test_a_killed_run_ends_with_the_same_curve_and_weights(prepared, trained, tmp_path):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), json.dumps(asdict(TINY))],
        cwd=settings.ROOT,
        stderr=subprocess.DEVNULL,
    )
    assert child.returncode == -signal.SIGKILL
    state, _ = training.read_checkpoint(tmp_path)
    assert state["step"] == 7 and points(tmp_path)[-1]["step"] == 12

    resumed = training.train(tmp_path, TINY)
    assert points(tmp_path) == points(trained)
    assert points(trained)[-1]["step"] == TINY.steps
    _, expected = training.read_checkpoint(trained)
    for name, parameter in resumed.model.named_parameters():
        assert torch.equal(parameter, expected[f"model.{name}"]), name


def test_it_learns(trained):
    first, last = points(trained)[0], points(trained)[-1]
    assert last["held_out"] < first["held_out"] - 0.3


def test_minutes_pause_a_run_and_a_finished_run_stays_as_it_is(prepared, tmp_path):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    assert training.train(tmp_path, TINY, minutes=1e-9).step == 1
    assert training.train(tmp_path, replace(TINY, steps=60), minutes=1e-9).step == 2


def test_steps_are_fixed_once_the_rate_falls(trained):
    assert training.train(trained, TINY).step == TINY.steps
    with pytest.raises(SystemExit, match="trained with another steps"):
        training.train(trained, replace(TINY, steps=60))
    with pytest.raises(SystemExit, match="trained with another dropout"):
        training.train(trained, replace(TINY, dropout=0.0))


def test_a_run_that_has_ended_goes_on_when_asked(prepared, tmp_path):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    ended = training.train(tmp_path, TINY, within=1e-9)
    assert ended.step == ended.end < TINY.steps
    assert training.train(tmp_path, TINY).step == ended.end
    on = training.train(tmp_path, TINY, minutes=1e-9, further=True)
    assert (on.step, on.end) == (ended.end + 1, TINY.steps)
    state, _ = training.read_checkpoint(tmp_path)
    assert state["landings"] == [ended.end] and on.is_open()
    assert training.train(tmp_path, TINY, minutes=1e-9).landings == [ended.end]


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    def half(file):
        file.write_text("ha")
        raise OSError("disk full")

    file = tmp_path / "curve.jsonl"
    file.write_text("whole")
    with pytest.raises(OSError, match="disk full"):
        settings.write_atomically(file, half)
    assert file.read_text() == "whole"


# --- export and perplexity -----------------------------------------------------------


def test_the_export_is_what_was_trained(trained, exported):
    _, expected = training.read_checkpoint(trained)
    model, tokenizer = export.load_exported(exported)
    assert len(tokenizer) == TINY.vocab_size
    for name, parameter in model.named_parameters():
        rounded = expected[f"model.{name}"].half().float()
        assert torch.equal(parameter, rounded), name
    assert model.lm_head.weight is model.transformer.wte.weight
    text = "The small reader opens.\nIt checks."
    assert tokenizer(text).input_ids == encode(trained, text)


def encode(folder, text):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return tokenizer.encode(text).ids


def test_the_command_reproduces_the_cards_perplexity(exported, site, capsys):
    main(["perplexity", "--target", str(exported), "--site", str(site)])
    facts = json.loads((exported / "training.json").read_text())
    value = f"{facts['perplexity']:.2f}"
    assert f"perplexity: {value} (the card says {value})" in capsys.readouterr().out
    assert f"**{value}** per token" in (exported / "README.md").read_text()


def test_the_command_fails_when_the_weights_are_others(exported, site, tmp_path):
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    facts = json.loads((exported / "training.json").read_text())
    facts["perplexity"] *= 1.02
    (tmp_path / "training.json").write_text(json.dumps(facts))
    with pytest.raises(SystemExit, match="perplexity is another"):
        main(["perplexity", "--target", str(tmp_path), "--site", str(site)])


def test_the_command_says_which_text_is_another(exported, site, tmp_path, capsys):
    first, second = HELD_OUT
    write_package(tmp_path, first, seed=99, version="2.0")
    write_package(tmp_path, second, seed=1)
    command = ["perplexity", "--target", str(exported), "--site", str(tmp_path)]
    main(command)
    assert f"{first} 2.0 is installed: the card used 1.0." in capsys.readouterr().out
    assert export.version_notes({first: "1.0"}, {}) == [
        f"{first} is not installed: the card used 1.0."
    ]


@pytest.mark.parametrize("stage", ["export", "perplexity"])
def test_a_stage_names_the_stage_before_it(stage, tmp_path):
    folder = str(tmp_path)
    with pytest.raises(SystemExit, match="run the `(train|export)` stage first"):
        main([stage, "--folder", folder, "--target", folder])


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (["corpus", "--site", "nowhere"], "--site is nowhere, which is not a folder"),
        (["train", "--steps", "0"], "--steps is 0: give at least 1."),
    ],
)
def test_a_wrong_option_leaves_nothing_behind(wrong, sentence, tmp_path):
    with pytest.raises(SystemExit, match=sentence):
        main([*wrong, "--folder", str(tmp_path / "run")])
    assert list(tmp_path.iterdir()) == []


# --- the checkpoint that the course bundles ------------------------------------------

SENTENCE = "If the file does not exist, a new one is created in the current directory."
FILES = {
    "README.md",
    "config.json",
    "generation_config.json",
    "loss_curve.png",
    "model.safetensors",
    "sha256.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "training.json",
}


@pytest.fixture(scope="module")
def bundled():
    model = AutoModelForCausalLM.from_pretrained(TARGET, dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(TARGET)


def test_bundled_files():
    assert {file.name for file in TARGET.iterdir()} == FILES
    assert (TARGET / "model.safetensors").stat().st_size <= 16e6
    weights = load_file(TARGET / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    assert all(tensor.isfinite().all() for tensor in weights.values())


def test_bundled_card_says_what_was_measured():
    facts = json.loads((TARGET / "training.json").read_text("utf-8"))
    assert (TARGET / "README.md").read_text("utf-8") == card.card(facts)
    assert facts["settings"] == asdict(Settings())  # the tool repeats this run
    assert 0.9 * Settings.steps < facts["step"] <= Settings.steps
    assert not set(facts["packages"]) & set(facts["held_out_packages"])


def test_bundled_model_is_a_plain_gpt2(bundled):
    model, tokenizer = bundled
    assert type(model).__name__ == "GPT2LMHeadModel"
    assert 3e6 < model.num_parameters() < 6e6
    assert model.config.activation_function == "gelu_new"
    assert model.lm_head.weight is model.transformer.wte.weight
    assert model.config.vocab_size == len(tokenizer)


def test_bundled_model_loads_quietly_and_in_float32(capfd):
    said, before = [], logging.get_verbosity()
    handler = StreamHandler()
    handler.emit = said.append
    logging.add_handler(handler)
    logging.set_verbosity_warning()
    try:
        model = AutoModelForCausalLM.from_pretrained(TARGET)
        AutoTokenizer.from_pretrained(TARGET)
    finally:
        logging.set_verbosity(before)
        logging.remove_handler(handler)
    assert model.dtype == torch.float32
    assert not said and tuple(capfd.readouterr()) == ("", "")


def test_bundled_tokenizer_is_like_gpt2s(bundled):
    _, tokenizer = bundled
    assert isinstance(tokenizer, GPT2Tokenizer) and tokenizer.is_fast
    assert len(GPT2Tokenizer.from_pretrained(TARGET)) == len(tokenizer) > 1000
    assert tokenizer.eos_token == tokenizer.bos_token == "<|endoftext|>"
    assert tokenizer.pad_token is None
    text = "don't stop, naïve café 北京 🙂\n  x"
    assert tokenizer.decode(tokenizer(text).input_ids) == text
    assert tokenizer.tokenize(" the") == ["Ġthe"]


def mean_loss(bundled, text):
    """Nats per token of a text that starts a document."""
    model, tokenizer = bundled
    rows = tokenizer(settings.END + text, return_tensors="pt").input_ids
    with torch.no_grad():
        return training.token_losses(model, rows).mean().item()


def test_bundled_model_knows_english(bundled):
    loss = mean_loss(bundled, SENTENCE)
    words = SENTENCE.split()
    random.Random(0).shuffle(words)
    assert loss < 4.0  # one of 4,096 at random: 8.3
    assert loss < mean_loss(bundled, " ".join(words)) - 1.5


def test_bundled_model_writes_english(bundled):
    samples = json.loads((TARGET / "training.json").read_text())["samples"]
    assert all(map(str.startswith, samples, card.PROMPTS))
    text = " ".join(sample.replace("\n", " ") for sample in samples)
    whole = [s for s in prose.sentences(text) if s.endswith((".", "?", "!"))]
    assert len(whole) >= 6
    assert sum(map(prose.is_english, whole)) >= 0.7 * len(whole)


@pytest.mark.slow
def test_bundled_perplexity_is_the_cards(capsys):
    facts = json.loads((TARGET / "training.json").read_text("utf-8"))
    installed = {p.name: p.version for p in corpus.installed_packages(settings.SITE)}
    if export.version_notes(facts["held_out_packages"], installed):
        pytest.skip("other versions of the held-out packages are installed")
    assert export.recompute(TARGET, settings.SITE)
    text = capsys.readouterr().out
    assert f"{len(facts['held_out_paragraphs']):,} of the card's" in text
