"""One beginning, continued in seven ways: lesson 11 puts them side by side.

All are written by `generate` of `transformers`, which keeps keys and values (lesson 10)
and is several times as fast as asking for the whole text again.
"""

import textwrap
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "beam of 5": {"do_sample": False, "num_beams": 5},
    "temperature 0.3": {"temperature": 0.3},
    "temperature 1": {"temperature": 1.0},
    "temperature 2": {"temperature": 2.0},
    "top-k, k = 10": {"top_k": 10},
    "top-p, p = 0.9": {"top_p": 0.9},
}


@torch.no_grad()
def write(
    model: Any,
    ids: Tensor,
    tokens: int,
    how: Mapping[str, Any],
    seed: int = 0,
    end: int | None = None,
) -> Tensor:
    """Continue prompts of equal length; what was drawn before changes nothing.

    Args:
        model: of `transformers`, in eval mode
        ids: (B, T)
        tokens: how many are added at most
        how: arguments of `generate`; without `do_sample` it draws from all tokens
        seed: of the draws
        end: the id that ends a text; None: nothing does

    Returns:
        (B, T + n), n at most `tokens`; a text that has ended is filled up with `end`
    """
    drawing = {"do_sample": True, "top_k": 0, "top_p": 1.0}
    asked = how if how.get("do_sample", True) is False else drawing | how
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=tokens,
            eos_token_id=end,
            pad_token_id=0 if end is None else end,
            **asked,
        )


def side_by_side(
    model: Any, tokenizer: Any, prompt: str, tokens: int = 40, seed: int = 0
) -> str:
    """One prompt in all `WAYS`, ready to be printed: a way, and what it adds.

    Args:
        model: as in `write`
        tokenizer: of the model
        prompt: the beginning
        tokens: how many are added at most
        seed: of the draws
    """
    ids = tokenizer(prompt, return_tensors="pt").input_ids  # (B=1, T)
    parts = []
    for way, how in WAYS.items():
        row = write(model, ids, tokens, how, seed, tokenizer.eos_token_id)[0]
        added = tokenizer.decode(row[ids.shape[1] :], skip_special_tokens=True)
        text = textwrap.fill(" ".join(added.split()), 86)
        parts.append(f"{way}\n{textwrap.indent(text, '  ')}")
    return "\n".join(parts)


def shared_runs(texts: Tensor, skip: int, size: int = 4) -> float:
    """The share of runs of tokens in a text that another one of these texts has, too.

    Args:
        texts: (B, T)
        skip: how many tokens at the beginning do not count
        size: of a run
    """
    runs = [
        {tuple(row[n : n + size]) for n in range(skip, len(row) - size + 1)}
        for row in texts.tolist()
    ]
    shares = [
        len(one & set().union(*runs[:n], *runs[n + 1 :])) / len(one)
        for n, one in enumerate(runs)
    ]
    return sum(shares) / len(shares)
