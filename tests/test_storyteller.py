"""Miniatures of the storyteller and the guesser: trained, exported and measured."""

import json
import lzma
import math
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    BertForMaskedLM,
    GPT2Config,
)
from transformers.utils import logging

from helpers.corpora import whole
from tools.corpora.stories import Recall, tell
from tools.pretrain import (
    evaluation,
    guesser,
    guesser_export,
    stories,
    story_export,
    storyteller,
    training,
)
from tools.pretrain.__main__ import main, parse, settings_for
from tools.pretrain.settings import END, GuesserSettings, Settings, StorySettings
from tools.pretrain.story_card import text_notes
from tools.pretrain.storyteller import StoryTrainer

SMALL = {
    "vocab_size": 400,
    "d_model": 16,
    "num_layers": 1,
    "num_heads": 2,
    "stories": 30,
    "steps": 12,
    "warmup_steps": 2,
    "decay": 0.3,
    "bfloat16": False,
    "evaluate_every": 4,
    "evaluate_rows": 4,
    "checkpoint_every": 5,
}
TELLER = StorySettings(**SMALL, batch_size=4)
GUESSER = GuesserSettings(**SMALL, batch_size=4)


@pytest.fixture(autouse=True, scope="module")
def small_world():
    """One thread, and few of everything that is counted in hundreds."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    patch = pytest.MonkeyPatch()
    patch.setattr(stories, "HELD_OUT_STORIES", 6)
    patch.setattr(stories.held_out_stories, "__defaults__", (6,))
    patch.setattr(evaluation, "LABELLED", 300)
    patch.setattr(evaluation, "JUDGED", 30)
    patch.setattr(evaluation, "REAL", 30)
    patch.setattr(evaluation, "BEST_OF", 2)
    patch.setattr(evaluation, "LONG", 40)
    patch.setattr(evaluation, "PROMPTS", evaluation.PROMPTS[:2])
    patch.setattr(evaluation, "OWN_PROMPTS", evaluation.OWN_PROMPTS[:2])
    patch.setattr(evaluation.evaluate, "__defaults__", (1,))
    patch.setattr(evaluation.continuations, "__defaults__", (12,))
    patch.setattr(evaluation.fact_cases, "__defaults__", (4,))
    patch.setattr(guesser_export, "ASKED", 3)
    patch.setattr(storyteller, "PROBED", 4)
    patch.setattr(guesser_export.measure_guesser, "__defaults__", (30,))
    yield
    patch.undo()
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of the storyteller that nothing interrupted."""
    folder = tmp_path_factory.mktemp("teller")
    stories.prepare_stories(folder, TELLER, None)
    training.train(folder, TELLER, kind=StoryTrainer)
    return folder


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    """What the run exports."""
    target = tmp_path_factory.mktemp("exported") / "storyteller"
    story_export.export_storyteller(run, target)
    return target


@pytest.fixture(scope="module")
def guesses(tmp_path_factory):
    """A run of the guesser, and what it exports."""
    folder = tmp_path_factory.mktemp("guesser")
    guesser.prepare_guesser(folder, GUESSER, None)
    training.train(folder, GUESSER, kind=guesser.GuesserTrainer)
    guesser_export.export_guesser(folder, folder / "bundled")
    return folder


# --- text -----------------------------------------------------------------------------


def test_no_story_is_in_both_splits(run):
    told = [stories.training_text(seed) for seed in range(TELLER.stories)]
    assert not set(told) & {story.text() for story in stories.held_out_stories()}
    tokenizer = Tokenizer.from_file(str(run / "tokenizer.json"))
    tokens = load_file(run / "tokens.safetensors")
    text = tokenizer.decode(tokens["train"].tolist(), skip_special_tokens=False)
    assert text.split(END)[1:] == told


def test_some_stories_leave_out_their_beginning():
    cut = 0
    for seed in range(200):
        whole_story, text = tell(seed), stories.training_text(seed)
        assert whole_story.text().endswith(text)
        if text != whole_story.text():
            cut += 1
            hero = whole_story.cast["hero"].forms["name"]
            sentence = next(p for p in whole_story.parts if text.startswith(p[:12]))
            assert hero in sentence
            assert len(text) > len(whole_story.text()) / 4
    assert 60 < cut < 100  # two in five


def test_books_are_read_alone_or_by_turns(tmp_path):
    file = tmp_path / "books.xz"
    parts = [f"Part {number} of the book." for number in range(40)]
    file.write_bytes(lzma.compress("\n\f\n".join(parts).encode()))
    alone = list(stories.texts(replace(TELLER, text="books"), file))
    held_out = stories.held_out_texts(replace(TELLER, text="books"), file)
    assert sorted(alone + held_out) == sorted(parts)
    both = list(stories.texts(replace(TELLER, text="both", stories=30), file))
    assert len(both) == len(alone) + 30
    assert both[1] == stories.training_text(0)
    for wrong, sentence in ((None, "name their file"), (tmp_path / "no", "be read")):
        with pytest.raises(SystemExit, match=sentence):
            list(stories.texts(replace(TELLER, text="books"), wrong))


def test_any_text_can_be_encoded(exported):
    tokenizer = AutoTokenizer.from_pretrained(exported)
    text = "Zoë's 3rd café, naïve 北京 🙂\n  x"
    assert tokenizer.decode(tokenizer(text).input_ids) == text


# --- training -------------------------------------------------------------------------


def prepared(run, folder) -> None:
    """Copy tokenizer and tokens of a run."""
    for name in ("tokenizer.json", "tokens.safetensors"):
        (folder / name).write_bytes((run / name).read_bytes())


def points(folder) -> list[dict]:
    """The curve of a run without its times."""
    lines = (folder / "curve.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(p).items() if k != "seconds"} for p in lines]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(StoryTrainer, TELLER), (guesser.GuesserTrainer, GUESSER)],
)
def test_a_run_in_pieces_equals_one_in_a_piece(kind, settings, run, guesses, tmp_path):
    whole = run if kind is StoryTrainer else guesses
    prepared(whole, tmp_path)
    while training.train(tmp_path, settings, 1e-9, kind=kind).step < settings.steps:
        pass  # one step each time
    assert points(tmp_path) == points(whole)
    first, second = (training.read_checkpoint(f)[1] for f in (tmp_path, whole))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_curve_tells_facts_and_falls(run):
    curve = points(run)
    assert curve[-1]["held_out"] < curve[0]["held_out"]
    assert all(0 <= point["facts"] <= 1 for point in curve)


def test_a_settled_curve_lets_the_rate_fall(run, tmp_path):
    prepared(run, tmp_path)
    plan = replace(TELLER, steps=400, patience=1, least_gain=9.0)  # never enough
    trainer = training.train(tmp_path, plan, kind=StoryTrainer)
    second = 2 * plan.evaluate_every  # the first point that can be compared
    assert trainer.step == trainer.end == math.ceil(second / (1 - plan.decay))
    assert training.train(tmp_path, plan, kind=StoryTrainer).step == trainer.step


def test_a_run_lands_within_its_time(run, tmp_path):
    prepared(run, tmp_path)
    plan = replace(TELLER, steps=400)
    trainer = training.train(tmp_path, plan, within=1e-9, kind=StoryTrainer)
    assert trainer.step == trainer.end == math.ceil(1 / (1 - plan.decay))


# --- export and measures --------------------------------------------------------------


def test_the_export_is_a_plain_gpt2_in_float16(run, exported):
    weights = load_file(exported / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    model = AutoModelForCausalLM.from_pretrained(exported)
    assert type(model).__name__ == "GPT2LMHeadModel"
    _, trained = training.read_checkpoint(run)
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, trained[f"model.{name}"].half().float())


def test_the_defaults_are_small_enough():
    for build, settings, most in (
        (training.build_model, StorySettings(), 10e6),
        (guesser.build_guesser, GuesserSettings(), 5e6),
    ):
        with torch.device("meta"):
            assert build(settings).num_parameters() <= most


def test_the_card_says_what_was_measured(exported, capsys):
    main(["perplexity", "--model", "storyteller", "--target", str(exported)])
    facts = story_export.read_facts(exported)
    value = f"{facts['perplexity']:.2f}"
    printed = capsys.readouterr().out
    assert f"{value} (the card says {value})" in printed
    assert "has changed" not in printed
    card = (exported / "README.md").read_text()
    assert f"**{value}** per token" in card
    assert all(p in card for p in (*evaluation.PROMPTS, *evaluation.OWN_PROMPTS))
    facts |= {"perplexity": facts["perplexity"] * 1.02, "held_out_sha256": "another"}
    (exported / "training.json").write_text(json.dumps(facts))
    with pytest.raises(SystemExit, match="not the card's"):
        main(["perplexity", "--model", "storyteller", "--target", str(exported)])
    assert "The story world has changed" in capsys.readouterr().out


def test_the_sheet_of_a_blind_reader_is_mixed_and_has_a_key(exported, tmp_path):
    where = ["--target", str(exported), "--folder", str(tmp_path)]
    main(["blind", "--model", "storyteller", *where])
    sheet = (tmp_path / "blind.txt").read_text()
    key = (tmp_path / "blind_key.txt").read_text().splitlines()
    kinds = [line.partition(". ")[2] for line in key]
    assert sorted(set(kinds)) == ["a held-out story", "temperature 1", "temperature 2"]
    assert kinds != sorted(kinds)
    samples = story_export.read_facts(exported)["shown"]["samples"]
    number = kinds.index("temperature 1") + 1
    assert any(f"{number}. {text}\n" in sheet for text in samples["1.0"])
    with pytest.raises(SystemExit, match="guesser has no stage `blind`"):
        main(["blind", "--model", "guesser", *where])


def test_what_a_blind_reader_said_is_kept_in_the_card(exported, tmp_path, capsys):
    where = ["--target", str(exported), "--folder", str(tmp_path)]
    said = tmp_path / "said.txt"
    entering = ["blind", "--model", "storyteller", *where, "--verdicts", str(said)]
    with pytest.raises(SystemExit, match="is missing: run the `blind` stage"):
        main(entering)
    main(["blind", "--model", "storyteller", *where])
    key = (tmp_path / "blind_key.txt").read_text().splitlines()
    lines = [
        f"{line.split('.')[0]} {'n why not' if 'temperature 2' in line else 'y'}"
        for line in key
    ]
    for wrong in (lines[1:], [*lines, lines[0]]):
        said.write_text("\n".join(wrong))
        with pytest.raises(SystemExit, match=f"each of the {len(key)} texts"):
            main(entering)
    assert "read_blind" not in story_export.read_facts(exported)
    said.write_text("\n".join(lines))
    main(entering)
    count = sum("temperature 2" in line for line in key)
    assert f"temperature 2: 0 of {count} were" in capsys.readouterr().out
    card = (exported / "README.md").read_text()
    assert (
        f"| read blind, temperature 2 | 0 of {count} were taken for a story |" in card
    )
    other = tmp_path / "other.txt"
    other.write_text("\n".join(line.replace(" n", " y") for line in lines))
    main([*entering, str(other)])
    two = f"0 and {count} of {count} were taken for a story, by 2 readers"
    assert (
        f"| read blind, temperature 2 | {two} |" in (exported / "README.md").read_text()
    )
    assert not whole.damaged(exported)


class Parrot(torch.nn.Module):
    """Always expects one token."""

    device = torch.device("cpu")
    config = GPT2Config(n_positions=8)

    def __init__(self, token: int, size: int):
        super().__init__()
        self.logits = torch.eye(size)[token]

    def forward(self, input_ids, **_):
        """Logits, (1, T, V)."""
        output = type("Output", (), {})()
        output.logits = self.logits.expand(1, input_ids.shape[1], -1)
        return output


def test_a_fact_is_right_if_its_word_is_the_most_likely(run):
    tokenizer = Tokenizer.from_file(str(run / "tokenizer.json"))
    (the,) = tokenizer.encode(" the").ids
    parrot = Parrot(the, TELLER.vocab_size)
    facts = [Recall("It was in", "the"), Recall("It was in the", "wardrobe")]
    assert evaluation.facts_right(parrot, tokenizer, facts) == [True, False]


def test_repeats_are_counted():
    assert evaluation.repeated([1, 2, 3, 4, 5, 6]) == 0
    assert evaluation.repeated([1, 2, 3, 4] * 2) == pytest.approx(1 / 5)
    assert evaluation.repeated([1] * 10) == pytest.approx(6 / 7)
    assert evaluation.repeated([1]) == 0


def test_broken_texts_are_found():
    story = tell(5).text()
    assert not evaluation.is_broken(story, ended=True)
    assert evaluation.is_broken(story, ended=False)
    assert evaluation.is_broken(story + " It was qwertish.", ended=True)
    line = "And so they went home together in the rain."
    assert evaluation.is_broken(f"{line} {line}", ended=True)


def test_endings_can_be_told_apart():
    reader = evaluation.EndingReader(evaluation.labelled(0, 300))
    heard = evaluation.labelled(stories.HELD_OUT, 60)
    assert reader.accuracy(heard) >= 0.8
    assert reader([tell(1, "happy").text()]).shape == (1,)


def test_a_continuation_ends_with_the_story(run):
    trainer = StoryTrainer(run, TELLER)
    prompts = ["Once", "There was a girl"]
    rows = evaluation.continuations(
        trainer.model.eval(), trainer.tokenizer, prompts, 1.0, seed=3, length=8
    )
    again = evaluation.continuations(
        trainer.model, trainer.tokenizer, prompts, 1.0, seed=3, length=8
    )
    assert rows == again and all(len(row) <= 8 for row in rows)
    assert evaluation.until_end([5, 6, 0, 7]) == [5, 6]


def test_a_card_lists_the_books_that_were_read():
    told = {text: text_notes({"text": text}) for text in ("world", "books", "both")}
    assert "Heidi" not in told["world"] and "simulator" not in told["books"]
    assert told["both"].startswith("By turns stories of") and "Books" in told["books"]
    for text in ("books", "both"):
        assert "- Johanna Spyri: Heidi\n" in told[text]
        assert "books of their time" in told[text]


# --- the guesser ----------------------------------------------------------------------


def test_rows_are_whole_sentences(guesses):
    tokenizer = Tokenizer.from_file(str(guesses / "tokenizer.json"))
    rows = guesser.fill_rows(tokenizer, [tell(3).text()], GUESSER)
    assert {len(row) for row in rows} == {GUESSER.context}
    joined = "".join(
        tokenizer.decode(row).replace(" ", "").replace("##", "") for row in rows
    )
    expected = tell(3).text().lower()
    assert joined == "".join(expected.split())
    told = {"".join(s.lower().split()) for s in guesser.sentences(tell(3).text())}
    alone = [tokenizer.decode(row).replace(" ", "") for row in rows[1::4]]
    assert alone and all(row.replace("##", "") in told for row in alone)


def test_words_are_hidden_as_bert_hides_them():
    rows = torch.full((100, 64), 77)
    rows[:, 0], rows[:, 40:] = guesser.START, guesser.PAD
    seen, chosen = guesser.hide(rows, GUESSER, seed=1)
    assert not chosen[:, 0].any() and not chosen[:, 40:].any()
    assert torch.equal(seen[~chosen], rows[~chosen])
    share = chosen[:, 1:40].double().mean().item()
    assert share == pytest.approx(GUESSER.masked, abs=0.02)
    masks = (seen[chosen] == guesser.MASK).double().mean().item()
    same = (seen[chosen] == 77).double().mean().item()
    assert masks == pytest.approx(0.8, abs=0.04)
    assert same == pytest.approx(0.1, abs=0.04)
    assert torch.equal(seen, guesser.hide(rows, GUESSER, seed=1)[0])


def test_the_table_of_neighbours_backs_off():
    rows = torch.tensor([[2, 11, 12, 13, 3], [2, 11, 14, 13, 3], [2, 11, 14, 13, 3]])
    table = guesser_export.NeighbourTable(rows)
    assert table.guess(11, 13) == 14
    assert table.guess(14, 99) == 13  # only the word on the left is known
    assert table.guess(99, 99) in (11, 13)  # the commonest


def test_rows_of_a_batch_are_about_equally_long_and_none_comes_twice():
    settings = replace(GUESSER, context=64, batch_size=4)
    lengths = torch.randint(3, 65, (400,), generator=torch.Generator().manual_seed(0))
    lengths[:60] = 9
    epochs = [guesser.batches(lengths, settings, epoch) for epoch in (0, 1)]
    for found in epochs:
        rows = torch.cat([rows for _, rows in found])
        assert len(rows.unique()) == len(rows) > 370
        assert {width for width, _ in found} == {16, 32, 64}
        for width, rows in found:
            assert len(rows) * width == settings.batch_size * settings.context
            assert width // 2 < lengths[rows].max() <= width or width == 16
            assert bool((lengths[rows] > width // 2).all()) or width == 16
    first, second = ([rows.tolist() for _, rows in found] for found in epochs)
    assert first != second and len(first) == len(second)


def test_the_guesser_is_a_plain_bert(guesses):
    target = guesses / "bundled"
    model = BertForMaskedLM.from_pretrained(target)
    tokenizer = AutoTokenizer.from_pretrained(target)
    assert tokenizer.mask_token_id == guesser.MASK
    assert model.config.vocab_size == len(tokenizer)
    batch = tokenizer("I sat on the [MASK].", return_tensors="pt")
    assert (batch.input_ids == guesser.MASK).sum() == 1
    with torch.no_grad():
        logits = model(**batch).logits
        places = batch.input_ids == guesser.MASK
        own = guesser.guess_logits(model.eval(), batch.input_ids, places)
    torch.testing.assert_close(logits[places], own, atol=1e-4, rtol=0)


def test_a_guesser_can_begin_with_the_weights_of_another(guesses, tmp_path):
    """Words that both have keep their vectors; a new one has the mean of its pieces."""
    other = replace(GUESSER, vocab_size=GUESSER.vocab_size + 40, steps=1)
    guesser.prepare_guesser(tmp_path, other, None)
    new = Tokenizer.from_file(str(tmp_path / "tokenizer.json")).get_vocab()
    before = Tokenizer.from_file(str(guesses / "tokenizer.json"))
    old, bundled = before.get_vocab(), guesses / "bundled"
    trainer = guesser.GuesserTrainer(tmp_path, other)
    trainer.begin_with(bundled)
    weights = load_file(bundled / "model.safetensors")
    for name in ("bert.embeddings.word_embeddings.weight", "cls.predictions.bias"):
        theirs = weights[name].float()
        mine = dict(trainer.model.named_parameters())[name]
        assert all(torch.equal(mine[new[w]], theirs[old[w]]) for w in new.keys() & old)
        word = min(w for w in new.keys() - old if "#" not in w)
        pieces = theirs[before.encode(word, add_special_tokens=False).ids]
        torch.testing.assert_close(mine[new[word]], pieces.mean(0))
    name = "bert.encoder.layer.0.attention.self.query.weight"
    mine = dict(trainer.model.named_parameters())[name]
    assert torch.equal(mine, weights[name].float())
    begun = training.train(tmp_path, other, kind=guesser.GuesserTrainer, start=bundled)
    guesser_export.export_guesser(tmp_path, tmp_path / "bundled")
    card = (tmp_path / "bundled" / "README.md").read_text()
    assert begun.begun["step"] == GUESSER.steps
    assert f"as an earlier one had become: {GUESSER.steps} steps, " in card
    assert "an earlier one" not in (bundled / "README.md").read_text()


def test_the_guessers_card_says_what_was_measured(guesses, capsys):
    target = guesses / "bundled"
    main(["perplexity", "--model", "guesser", "--target", str(target)])
    shown = json.loads((target / "training.json").read_text())["shown"]
    value = f"{shown['perplexity']:.2f}"
    assert f"{value} (the card says {value})" in capsys.readouterr().out
    card = (target / "README.md").read_text()
    assert f"**{shown['top_1']:.1%}**" in card
    assert all(sentence in card for sentence in guesser.SENTENCES)
    assert text_notes({"text": "scenes"}) in card
    assert 0 <= shown["commonest"] <= shown["neighbours"] <= 1


# --- the command ----------------------------------------------------------------------


def test_options_change_the_settings():
    options = parse(["--model", "storyteller", "--width", "64", "--layers", "2"])
    settings = settings_for(options)
    assert (settings.d_model, settings.num_layers) == (64, 2)
    assert settings_for(parse([])) == Settings()
    with pytest.raises(SystemExit, match="has no setting"):
        settings_for(parse(["--text", "world"]))


@pytest.mark.parametrize("model", ["storyteller", "guesser"])
@pytest.mark.parametrize("stage", ["export", "perplexity", "evaluate"])
def test_a_stage_names_the_stage_before_it(model, stage, tmp_path):
    folder = str(tmp_path)
    with pytest.raises(SystemExit, match="run the `(train|export)` stage first"):
        main([stage, "--model", model, "--folder", folder, "--target", folder])
