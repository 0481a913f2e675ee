"""Independent solutions to 11.P."""

import torch
import torch.nn.functional as F


def repetition_by_sets(logits, ids, penalty):
    result = logits.clone()
    for row, text in enumerate(ids.tolist()):
        for token in set(text):
            score = logits[row, token]
            result[row, token] = score / penalty if score > 0 else score * penalty
    return result


def repetition_by_a_mask(logits, ids, penalty):
    seen = F.one_hot(ids, logits.shape[1]).any(1)
    factor = torch.where(logits < 0, penalty, 1 / penalty)
    return logits * torch.where(seen, factor, 1.0).to(logits.dtype)


def repetition_by_two_parts(logits, ids, penalty):
    lowered = logits.relu() / penalty - (-logits).relu() * penalty
    result = logits.clone()
    return result.scatter_(1, ids, lowered.gather(1, ids))


VARIANTS = {
    "11.P": (repetition_by_sets, repetition_by_a_mask, repetition_by_two_parts),
}
