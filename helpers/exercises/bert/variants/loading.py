"""Independent solutions to 9.C, 9.D."""

import torch


def load_by_bert(folder):
    from transformers import BertForSequenceClassification

    return BertForSequenceClassification.from_pretrained(folder, num_labels=5)


def load_by_names(folder):
    from transformers import AutoModelForSequenceClassification

    names = {n: f"{n + 1} stars" for n in range(5)}
    return AutoModelForSequenceClassification.from_pretrained(
        folder, id2label=names, label2id={name: n for n, name in names.items()}
    )


def load_by_configuration(folder):
    from transformers import AutoConfig, AutoModelForSequenceClassification

    config = AutoConfig.from_pretrained(folder, num_labels=5)
    return AutoModelForSequenceClassification.from_pretrained(folder, config=config)


def load_for_single_labels(folder):
    from transformers import AutoModelForSequenceClassification

    return AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=5, problem_type="single_label_classification"
    )


def pool_by_loops(hidden, attention_mask):
    rows = [
        row[: int(mask.sum())].mean(0)
        for row, mask in zip(hidden, attention_mask, strict=True)
    ]
    return torch.stack([row[0] for row in hidden]), torch.stack(rows)


def pool_by_matmul(hidden, attention_mask):
    share = attention_mask / attention_mask.sum(-1, keepdim=True)
    return hidden.select(1, 0), (share.to(hidden)[:, None] @ hidden)[:, 0]


def pool_by_einsum(hidden, attention_mask):
    total = torch.einsum("btd,bt->bd", hidden, attention_mask.to(hidden))
    return hidden[:, 0, :], total / attention_mask.sum(1).unsqueeze(1)


def pool_by_nan(hidden, attention_mask):
    blank = hidden.masked_fill(attention_mask[..., None] == 0, float("nan"))
    return hidden[:, 0], blank.nanmean(1)


def pool_by_float_einsum(hidden, attention_mask):
    real = attention_mask.float()
    total = torch.einsum("btd,bt->bd", hidden, real)
    return hidden[:, 0], total / real.sum(1, keepdim=True)


def pool_by_bmm(hidden, attention_mask):
    share = attention_mask.float() / attention_mask.sum(1, keepdim=True)
    return hidden[:, 0], torch.bmm(share.unsqueeze(1), hidden).squeeze(1)


VARIANTS = {
    "9.C": (
        load_by_bert,
        load_by_names,
        load_by_configuration,
        load_for_single_labels,
    ),
    "9.D": (
        pool_by_loops,
        pool_by_matmul,
        pool_by_einsum,
        pool_by_nan,
        pool_by_float_einsum,
        pool_by_bmm,
    ),
}
