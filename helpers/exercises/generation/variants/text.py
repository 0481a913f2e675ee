"""Independent solutions to 11.G."""

import torch

from helpers.exercises.generation.variants.shared import (
    ngrams_by_comparison,
    ngrams_by_dictionary,
    ngrams_by_trying,
    top_k_by_counting,
    top_k_by_loops,
    top_k_by_sorting,
    top_p_by_loops,
    top_p_by_ranks,
    top_p_from_below,
)


@torch.no_grad()
def text_by_encode(
    model,
    tokenizer,
    prompt,
    max_new_tokens=100,
    temperature=0.7,
    top_k=50,
    top_p=0.95,
    no_repeat_ngram_size=2,
    generator=None,
):
    text = tokenizer.encode(prompt)
    for _ in range(max_new_tokens):
        ids = torch.tensor([text])
        scores = ngrams_by_comparison(
            model(ids).logits[:, -1], ids, no_repeat_ngram_size
        )
        scores = top_p_by_ranks(top_k_by_sorting(scores / temperature, top_k), top_p)
        drawn = torch.multinomial(scores.softmax(-1)[0], 1, generator=generator)
        text.append(drawn.item())
        if text[-1] == tokenizer.eos_token_id:
            break
    return tokenizer.decode(text, skip_special_tokens=True)


@torch.no_grad()
def text_by_running_sum(model, tokenizer, prompt, max_new_tokens=100, **how):
    """Draws one number and looks where it falls."""
    inputs = tokenizer(prompt, return_tensors="pt")
    ids, left = inputs["input_ids"], max_new_tokens
    while left > 0:
        last = model(**inputs | {"input_ids": ids}).logits[:, -1]
        last = ngrams_by_dictionary(last, ids, how.get("no_repeat_ngram_size", 2))
        last = last / how.get("temperature", 0.7)
        last = top_k_by_counting(last, how.get("top_k", 50))
        shares = top_p_by_loops(last, how.get("top_p", 0.95)).softmax(-1)[0]
        point = torch.rand((), generator=how.get("generator"), dtype=shares.dtype)
        token = int((shares.cumsum(0) <= point).sum().clamp(max=len(shares) - 1))
        ids = torch.cat([ids, torch.tensor([[token]])], dim=1)
        left = 0 if token == tokenizer.eos_token_id else left - 1
    return tokenizer.batch_decode(ids, skip_special_tokens=True)[0]


@torch.no_grad()
def text_by_gumbel(
    model,
    tokenizer,
    prompt,
    max_new_tokens=100,
    temperature=0.7,
    top_k=50,
    top_p=0.95,
    no_repeat_ngram_size=2,
    generator=None,
):
    """The largest of scores plus Gumbel noise is a draw from their softmax."""
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    for _ in range(max_new_tokens):
        scores = ngrams_by_trying(model(ids).logits[:, -1], ids, no_repeat_ngram_size)
        scores = top_k_by_loops(scores / temperature, top_k)
        scores = top_p_from_below(scores, top_p)
        noise = torch.rand(scores.shape, generator=generator, dtype=scores.dtype)
        token = (scores - (-noise.log()).log()).argmax(-1, keepdim=True)
        ids = torch.cat([ids, token], 1)
        if int(token) == tokenizer.eos_token_id:
            break
    return tokenizer.decode(ids[0].tolist(), skip_special_tokens=True)


VARIANTS = {
    "11.G": (text_by_encode, text_by_running_sum, text_by_gumbel),
}
