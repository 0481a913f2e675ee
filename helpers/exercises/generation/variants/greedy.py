"""Independent solutions to 11.A."""

import torch


@torch.no_grad()
def greedy_into_a_table(model, ids, max_new_tokens):
    start = ids.shape[1]
    table = ids.new_zeros(len(ids), start + max_new_tokens)
    table[:, :start] = ids
    for place in range(start, table.shape[1]):
        table[:, place] = model(table[:, :place]).logits[:, -1, :].max(dim=1).indices
    return table


def greedy_row_by_row(model, ids, max_new_tokens):
    rows = []
    for row in ids:
        text = row.tolist()
        for _ in range(max_new_tokens):
            scores = model(torch.tensor([text]))[0][0, -1]
            text.append(max(range(len(scores)), key=lambda one: scores[one].item()))
        rows.append(text)
    return torch.tensor(rows)


def greedy_by_recursion(model, ids, max_new_tokens):
    if max_new_tokens == 0:
        return ids
    best = torch.softmax(model(input_ids=ids).logits, -1)[:, -1].topk(1).indices
    return greedy_by_recursion(model, torch.hstack([ids, best]), max_new_tokens - 1)


def greedy_with_a_cache(model, ids, max_new_tokens):
    ids = ids.to(model.device)
    new, past = ids, None
    for _ in range(max_new_tokens):
        output = model(new, past_key_values=past, use_cache=True)
        new, past = (
            output.logits[:, -1].argmax(-1, keepdim=True),
            output.past_key_values,
        )
        ids = torch.cat([ids, new], 1)
    return ids


VARIANTS = {
    "11.A": (
        greedy_into_a_table,
        greedy_row_by_row,
        greedy_by_recursion,
        greedy_with_a_cache,
    ),
}
