"""What the storyteller has to show, measured: facts, samples, repeats, endings."""

import torch
from tokenizers import Tokenizer
from transformers import GPT2LMHeadModel

from tools.corpora.stories import Recall
from tools.pretrain.settings import END


@torch.no_grad()
def facts_right(
    model: GPT2LMHeadModel, tokenizer: Tokenizer, facts: list[Recall]
) -> list[bool]:
    """Whether the word of each fact is the most likely one, all of its tokens."""
    right = []
    for fact in facts:
        before = tokenizer.encode(END + fact.prompt).ids
        answer = tokenizer.encode(" " + fact.answer).ids
        row = torch.tensor([before + answer], device=model.device)
        logits = model(input_ids=row[:, :-1], use_cache=False).logits[0]  # (T, V)
        guessed = logits[len(before) - 1 :].argmax(-1).tolist()
        right.append(guessed == answer)
    return right
