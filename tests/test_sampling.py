"""Filters, greedy, sampling, beam and perplexity against `transformers`."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import pretrained
from helpers.generation import sampling, ways
from helpers.generation.beam import continue_text
from helpers.generation.prompts import PROMPTS
from helpers.generation.sampling import Settings

pytestmark = pytest.mark.lesson(11)
NEW = 8


@pytest.fixture(scope="module")
def gpt2():
    return pretrained.load_gpt2(), pretrained.load_tokenizer("gpt2")


@pytest.fixture(scope="module")
def small():
    """A random GPT-2 in float64, with a few words only: no training, no luck."""
    from transformers import GPT2Config, GPT2LMHeadModel

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        config = GPT2Config(
            vocab_size=23,
            n_positions=40,
            n_embd=24,
            n_layer=2,
            n_head=3,
            initializer_range=0.6,
            bos_token_id=None,
            eos_token_id=None,
        )
        return GPT2LMHeadModel(config).double().eval()


def scores(seed, *size, dtype=torch.float64):
    draw = torch.Generator().manual_seed(seed)
    return 3 * torch.randn(size, generator=draw, dtype=torch.float64).to(dtype)


def equal_texts(ours, theirs):
    assert ours.tolist() == theirs.tolist()


# --- every filter is the library's ----------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("temperature", [0.1, 0.7, 1.0, 3.0])
def test_temperature(temperature, dtype):
    from transformers import TemperatureLogitsWarper

    x = scores(0, 3, 17, dtype=dtype)
    theirs = TemperatureLogitsWarper(temperature)(None, x)
    assert torch.equal(sampling.apply_temperature(x, temperature), theirs)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("k", [1, 2, 5, 16, 17, 40])
def test_top_k(k, dtype):
    from transformers import TopKLogitsWarper

    for seed in range(20):
        x = scores(seed, 3, 17, dtype=dtype)
        for logits in (x, x.round(), torch.zeros_like(x)):  # ties, and ties only
            theirs = TopKLogitsWarper(k)(None, logits)
            assert torch.equal(sampling.top_k_filter(logits, k), theirs)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("p", [0.0, 0.01, 0.3, 0.5, 0.9, 0.999, 1.0])
def test_top_p(p, dtype):
    from transformers import TopPLogitsWarper

    for seed in range(20):
        x = scores(seed, 3, 17, dtype=dtype)
        for logits in (x, x.round(), torch.zeros_like(x)):
            theirs = TopPLogitsWarper(p)(None, logits)
            assert torch.equal(sampling.top_p_filter(logits, p), theirs)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_repeat_ngram(n):
    from transformers import NoRepeatNGramLogitsProcessor

    draw = torch.Generator().manual_seed(n)
    for length in (1, 2, 3, 9, 30):
        ids = torch.randint(0, 4, (5, length), generator=draw)
        x = scores(length, 5, 6)
        theirs = NoRepeatNGramLogitsProcessor(n)(ids, x.clone())
        assert torch.equal(sampling.no_repeat_ngram_filter(x, ids, n), theirs)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-6, 6), min_size=2, max_size=9), st.floats(0, 1))
def test_top_p_keeps_the_smallest_set_that_reaches_p(logits, p):
    x = torch.tensor([logits], dtype=torch.float64)
    kept = sampling.top_p_filter(x, p).isfinite()[0]
    shares = x[0].softmax(-1)
    assert kept.any()
    assert shares[kept].sum() >= p - 1e-9
    if kept.sum() > 1:
        assert shares[kept].sum() - shares[kept].min() < p + 1e-9
    if not kept.all():
        assert shares[kept].min() >= shares[~kept].max()


def test_all_filters_in_the_library_s_order(small):
    from transformers import (
        LogitsProcessorList,
        NoRepeatNGramLogitsProcessor,
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )

    ids = torch.randint(0, 23, (4, 12), generator=torch.Generator().manual_seed(0))
    x = scores(1, 4, 23)
    chain = LogitsProcessorList(
        [
            NoRepeatNGramLogitsProcessor(2),
            TemperatureLogitsWarper(0.7),
            TopKLogitsWarper(9),
            TopPLogitsWarper(0.8),
        ]
    )
    ours = sampling.filtered(x, ids, Settings(0.7, 9, 0.8, 2))
    assert torch.equal(ours, chain(ids, x.clone()))


def test_without_settings_nothing_is_filtered():
    x = scores(2, 2, 7)
    assert torch.equal(sampling.filtered(x, torch.zeros(2, 3).long(), Settings()), x)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: sampling.apply_temperature(x, 0.0), "temperature=0.0"),
        (lambda x: sampling.top_k_filter(x, 0), "k=0"),
        (lambda x: sampling.top_p_filter(x, 1.5), "p=1.5"),
        (lambda x: sampling.no_repeat_ngram_filter(x, x.long(), 0), "n=0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call(torch.zeros(2, 3))


# --- writing --------------------------------------------------------------------------


@pytest.mark.slow
def test_greedy_and_beam_write_what_generate_writes(gpt2):
    """On real prompts; `eos_token_id=None`, as length rules differ (lesson 11)."""
    model, tokenizer = gpt2
    how = {"do_sample": False, "max_new_tokens": NEW, "eos_token_id": None}
    assert len(PROMPTS) >= 20
    for prompt in PROMPTS:
        inputs = tokenizer(prompt, return_tensors="pt")
        for width in (1, 4):
            theirs = model.generate(**inputs, **how, num_beams=width, pad_token_id=0)
            if width == 1:
                equal_texts(sampling.greedy(model, inputs.input_ids, NEW), theirs)
            equal_texts(continue_text(model, inputs.input_ids, NEW, width)[0], theirs)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 7])
def test_a_beam_on_a_random_model_is_the_library_s(small, width):
    for start in range(5):
        ids = torch.tensor([[start, 2 * start + 1]])
        theirs = small.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            num_beams=width,
            max_new_tokens=9,
            pad_token_id=0,
        )
        ours, mean = continue_text(small, ids, 9, width)
        equal_texts(ours, theirs)
        log_p = small(ours).logits[:, :-1].log_softmax(-1)
        each = log_p.gather(-1, ours[:, 1:, None])[0, -9:]
        assert mean == pytest.approx(each.mean().item(), abs=1e-6)


def test_a_beam_as_wide_as_all_texts_finds_the_best(small):
    """23 ** 2 texts of two tokens; `end` finishes some of them after one."""
    ids, end = torch.tensor([[4]]), 7
    ours, mean = continue_text(small, ids, 2, 23 * 23, end)
    first = small(ids).logits[0, -1].log_softmax(-1)
    best = (first[end].item(), [4, end])
    for one in (token for token in range(23) if token != end):
        second = small(torch.tensor([[4, one]])).logits[0, -1].log_softmax(-1)
        value, token = second.max(-1)
        mean_of_both = (first[one] + value).item() / 2
        best = max(best, (mean_of_both, [4, one, int(token)]))
    assert ours[0].tolist() == best[1]
    assert mean == pytest.approx(best[0], abs=1e-6)


def test_a_prompt_that_ends_with_the_end_is_continued(small):
    ids = torch.tensor([[7]])
    written, mean = continue_text(small, ids, 1, 1, end=7)
    best = sampling.next_logits(small, ids).log_softmax(-1)[0].max(-1)
    assert written.tolist() == [[7, int(best.indices)]]
    assert mean == pytest.approx(best.values.item(), abs=1e-6)
    assert continue_text(small, ids, 0, 2, end=7)[0].tolist() == [[7]]


def test_a_left_padded_batch_continues_as_single_prompts_do(gpt2):
    model, tokenizer = gpt2
    ids, mask = pretrained.left_padded(tokenizer, PROMPTS)
    assert (~mask).any() and not mask.all(0)[0]
    together = sampling.greedy(model, ids, NEW, mask)
    for row, prompt in zip(together, PROMPTS, strict=True):
        alone = tokenizer(prompt, return_tensors="pt").input_ids
        equal_texts(row[-NEW:], sampling.greedy(model, alone, NEW)[0, -NEW:])


def test_left_padding_is_what_the_library_does(gpt2):
    model, tokenizer = gpt2
    ids, mask = pretrained.left_padded(tokenizer, PROMPTS[:5])
    theirs = model.generate(
        ids,
        attention_mask=mask.long(),
        do_sample=False,
        max_new_tokens=NEW,
        eos_token_id=None,
        pad_token_id=0,
    )
    equal_texts(sampling.greedy(model, ids, NEW, mask), theirs)


def test_padded_scores_are_equal_in_float64(small):
    draw = torch.Generator().manual_seed(0)
    long, short = torch.randint(0, 23, (2, 9), generator=draw)
    ids = torch.stack([long, torch.cat([torch.zeros(5).long(), short[:4]])])
    mask = torch.ones(2, 9, dtype=torch.bool)
    mask[1, :5] = False
    both = sampling.next_logits(small, ids, mask)
    alone = sampling.next_logits(small, short[None, :4])
    assert torch.allclose(both[1], alone[0], atol=1e-9, rtol=0)


def test_the_tokenizer_stays_without_a_padding_token(gpt2):
    _, tokenizer = gpt2
    ids, mask = pretrained.left_padded(tokenizer, ["The file", "If"])
    assert tokenizer.pad_token is None
    with pytest.raises(ValueError, match="does not have a padding token"):
        tokenizer(["The file", "If"], padding=True)
    assert ids[1, 0] == tokenizer.eos_token_id and mask.tolist()[1] == [False, True]


def test_sampling_follows_the_probabilities(small):
    """3000 draws, 23 tokens: a share off by 5 sigma has odds of 23 * 6e-7 = 1e-5."""
    ids = torch.tensor([[3, 1, 4]]).repeat(3000, 1)
    drawn = sampling.sample(
        small, ids, 1, Settings(0.8), torch.Generator().manual_seed(0)
    )
    shares = torch.bincount(drawn[:, -1], minlength=23) / 3000
    expected = (sampling.next_logits(small, ids[:1])[0] / 0.8).softmax(-1)
    sigma = (expected * (1 - expected) / 3000).sqrt()
    assert ((shares - expected).abs() < 5 * sigma + 1e-3).all()


def test_sampling_with_k_1_is_greedy_and_k_1_works(small):
    ids = torch.tensor([[1, 2], [3, 4]])
    drawn = sampling.sample(small, ids, 9, Settings(top_k=1))
    equal_texts(drawn, sampling.greedy(small, ids, 9))


def test_sampling_writes_no_pair_twice(small):
    ids = torch.tensor([[1, 2], [3, 4]])
    drawn = sampling.sample(small, ids, 30, Settings(no_repeat_ngram_size=2))
    for row in drawn.tolist():
        pairs = list(zip(row, row[1:], strict=False))
        assert len(pairs) == len(set(pairs))


def test_a_row_that_ended_is_filled_and_all_ended_stop(small):
    ids = torch.tensor([[1, 2], [3, 4]])
    free = sampling.sample(small, ids, 12, Settings(top_k=1))
    end = int(free[0, 4])
    drawn = sampling.sample(small, ids, 12, Settings(top_k=1), end=end)
    for row in drawn[:, 2:].tolist():
        if end in row:
            assert set(row[row.index(end) :]) == {end}
    only = sampling.sample(small, ids[:1], 12, Settings(top_k=1), end=end)
    assert only.shape[1] <= 5


def test_the_generator_decides(small):
    ids = torch.tensor([[1, 2]])

    def text(seed):
        draw = torch.Generator().manual_seed(seed)
        return sampling.sample(small, ids, 20, Settings(2.0), draw).tolist()

    assert text(0) == text(0) != text(1)


# --- perplexity -----------------------------------------------------------------------


def test_perplexity_is_exp_of_the_library_s_loss(gpt2, small):
    model, tokenizer = gpt2
    ids = tokenizer("Return the name of the file.", return_tensors="pt").input_ids
    with torch.no_grad():
        loss = model(ids, labels=ids).loss
    assert sampling.perplexity(model, ids) == pytest.approx(loss.exp().item(), rel=1e-5)
    ids = torch.tensor([[3, 1, 4, 1, 5]])
    log_p = small(ids).logits.log_softmax(-1)[0]
    total = sum(log_p[t, ids[0, t + 1]].item() for t in range(4))
    expected = torch.tensor(-total / 4).exp().item()
    assert sampling.perplexity(small, ids) == pytest.approx(expected, rel=1e-5)


def test_perplexity_of_a_model_that_knows_nothing_is_the_vocabulary():
    ids = torch.tensor([[1, 2, 3]])
    even = sampling.perplexity(lambda ids: F.one_hot(ids, 7).double() * 0, ids)
    assert even == pytest.approx(7)


def test_prompts_are_different_and_within_the_context(gpt2):
    _, tokenizer = gpt2
    lengths = [len(tokenizer(prompt).input_ids) for prompt in PROMPTS]
    assert len(set(PROMPTS)) == len(PROMPTS) and len(set(lengths)) > 1
    assert max(lengths) < 20


# --- seven ways -----------------------------------------------------------------------


def test_the_ways_write_what_the_filters_say(small):
    ids = torch.tensor([[1, 2], [3, 4]])
    same = ways.write(small, ids, 6, ways.WAYS["greedy"])
    equal_texts(same, sampling.greedy(small, ids, 6))
    one = ways.write(small, ids, 6, {"top_k": 1}, seed=3)
    equal_texts(one, same)
    beam, _ = continue_text(small, ids[:1], 6, 5)
    equal_texts(ways.write(small, ids[:1], 6, ways.WAYS["beam of 5"]), beam)


def test_a_way_draws_from_all_tokens_and_leaves_chance_as_it_was(small):
    ids = torch.tensor([[3, 1, 4]]).repeat(400, 1)
    before = torch.get_rng_state()
    drawn = ways.write(small, ids, 1, {"temperature": 50.0}, seed=1)[:, -1]
    assert torch.equal(torch.get_rng_state(), before)
    assert len(drawn.unique()) == 23  # each stays away with odds of 2e-8
    again = ways.write(small, ids, 1, {"temperature": 50.0}, seed=1)[:, -1]
    other = ways.write(small, ids, 1, {"temperature": 50.0}, seed=2)[:, -1]
    assert torch.equal(drawn, again) and not torch.equal(drawn, other)


def test_shared_runs_are_those_that_another_text_has():
    texts = torch.tensor([[0, 1, 2, 3, 4, 5], [9, 1, 2, 3, 4, 6], [0, 7, 7, 7, 7, 8]])
    # of (1234, 2345), (1234, 2346) and (7777, 7778), one each of the first two
    assert ways.shared_runs(texts, skip=1) == pytest.approx((0.5 + 0.5 + 0) / 3)
    assert ways.shared_runs(texts[:2], skip=2) == 0


def test_all_ways_stand_side_by_side():
    model = pretrained.load_gpt2("storyteller")
    tokenizer = pretrained.load_tokenizer("storyteller")
    said = ways.side_by_side(model, tokenizer, "Anna put the ball in the", 3)
    lines = said.splitlines()
    assert lines[::2] == list(ways.WAYS)
    assert all(line.startswith("  ") and line.strip() for line in lines[1::2])


# --- two more filters -----------------------------------------------------------------


@given(st.integers(0, 10_000), st.sampled_from([0.02, 0.1, 0.35, 0.8]))
@settings(max_examples=40, deadline=None)
def test_min_p_is_the_library_s(seed, p):
    from transformers import MinPLogitsWarper

    draw = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(3, 17, generator=draw, dtype=torch.float64)
    assert torch.equal(
        sampling.min_p_filter(logits, p), MinPLogitsWarper(p)(None, logits)
    )


@given(st.integers(0, 10_000), st.sampled_from([0.7, 1.0, 1.3, 2.0]))
@settings(max_examples=40, deadline=None)
def test_the_repetition_penalty_is_the_library_s(seed, penalty):
    from transformers import RepetitionPenaltyLogitsProcessor

    draw = torch.Generator().manual_seed(seed)
    logits = torch.randn(3, 9, generator=draw, dtype=torch.float64)
    ids = torch.randint(0, 9, (3, 6), generator=draw)
    theirs = RepetitionPenaltyLogitsProcessor(penalty)(ids, logits.clone())
    assert torch.equal(sampling.repetition_penalty(logits, ids, penalty), theirs)


def test_settings_without_sense_are_one_sentence():
    with pytest.raises(ValueError, match="p=1.5: a share is between 0 and 1"):
        sampling.min_p_filter(torch.zeros(1, 3), 1.5)
    with pytest.raises(ValueError, match="penalty=0: it has to be above 0"):
        sampling.repetition_penalty(torch.zeros(1, 3), torch.zeros(1, 1).long(), 0)


# --- rewards --------------------------------------------------------------------------


def test_the_reader_of_endings_tells_them_apart_and_is_cheated():
    from helpers.generation.rewards import EndingReader

    reader = EndingReader()
    assert len(reader.held_out) == 200
    assert reader.accuracy(reader.held_out) > 0.85  # 0.91
    favourites = reader.favourites(12)
    assert len(favourites) == 12 and not any(" " in word for word in favourites)
    real = reader([story.text for story in reader.held_out])
    assert reader([" ".join(favourites)]) > real.max()
    long = "sad " * 500 + reader.held_out[0].text
    assert reader([long]) == pytest.approx(reader([reader.held_out[0].text]))


def test_the_star_reader_is_better_than_chance_and_likes_praise():
    from helpers.generation.rewards import StarReader

    reader = StarReader()
    assert reader.accuracy() > 0.4  # chance: 0.2
    stars = reader(["Wonderful, we loved it.", "Terrible, we hated it.", ""])
    assert stars.shape == (3,) and stars[0] > stars[1]
    assert ((stars >= 1) & (stars <= 5)).all()
