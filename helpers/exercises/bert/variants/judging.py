"""Independent solutions to 9.L, 9.E."""

import numpy as np
import torch
import torch.nn.functional as F


def ask_up_to_512(model, tokenizer, texts):
    model.eval()
    batch = tokenizer(
        texts, padding=True, truncation=True, max_length=512, return_tensors="pt"
    ).to(model.device)
    with torch.no_grad():
        return model(**batch).logits.softmax(-1)


def ask_up_to_the_positions(model, tokenizer, texts):
    model.eval()
    most = model.config.max_position_embeddings
    batch = tokenizer(
        texts, padding=True, truncation=True, max_length=most, return_tensors="pt"
    )
    with torch.no_grad():
        return model(**batch).logits.softmax(-1)


def ask_in_inference_mode(model, tokenizer, texts):
    model.train(False)
    with torch.inference_mode():
        batch = tokenizer(
            texts, padding="longest", truncation=True, return_tensors="pt"
        )
        return torch.softmax(model(**batch).logits, dim=1)


@torch.no_grad()
def ask_one_by_one(model, tokenizer, texts):
    model.eval()
    rows = []
    for text in texts:
        batch = tokenizer([text], truncation=True, return_tensors="pt")
        rows.append(model(batch["input_ids"], batch["attention_mask"]).logits[0])
    return F.softmax(torch.stack(rows), -1)


def ask_by_exponentials(model, tokenizer, texts):
    model = model.eval()
    batch = tokenizer(texts, padding="max_length", truncation=True, return_tensors="pt")
    with torch.no_grad():
        scores = model(
            input_ids=batch.input_ids, attention_mask=batch.attention_mask
        ).logits
    scores = (scores - scores.max(-1, keepdim=True).values).exp()
    return scores / scores.sum(-1, keepdim=True)


def evaluate_by_rows(model, batches):
    model.eval()
    losses, hits = [], []
    with torch.no_grad():
        for batch in batches:
            logits = model(batch["input_ids"], batch["attention_mask"]).logits
            losses.append(F.cross_entropy(logits, batch["labels"], reduction="none"))
            hits.append(logits.argmax(1) == batch["labels"])
    return torch.cat(losses).mean().item(), torch.cat(hits).double().mean().item()


@torch.inference_mode()
def evaluate_by_pooling(model, batches):
    model.eval()
    batches = list(batches)
    logits = [
        model(input_ids=b["input_ids"], attention_mask=b["attention_mask"])["logits"]
        for b in batches
    ]
    logits, labels = torch.cat(logits), torch.cat([b["labels"] for b in batches])
    right = (logits.max(-1).indices == labels).sum()
    return F.cross_entropy(logits, labels), right / len(labels) * torch.tensor(
        1.0
    ).double()


def evaluate_with_numpy(model, batches):
    model.eval()
    total = correct = count = 0
    for batch in batches:
        with torch.no_grad():
            output = model(**batch)
        guesses = np.argmax(output.logits.numpy(), axis=-1)
        correct += int(np.sum(guesses == batch["labels"].numpy()))
        total += float(output.loss) * len(guesses)
        count += len(guesses)
    return total / count, correct / count


def evaluate_on_copies(model, batches):
    model.eval()
    total = right = count = 0
    for batch in batches:
        batch = dict(batch)
        labels = batch.pop("labels")
        with torch.no_grad():
            logits = model(**batch).logits
        total += F.cross_entropy(logits, labels, reduction="sum").item()
        right += int((logits.argmax(1) == labels).sum())
        count += len(labels)
    return total / count, right / count


VARIANTS = {
    "9.L": (
        ask_in_inference_mode,
        ask_one_by_one,
        ask_by_exponentials,
        ask_up_to_512,
        ask_up_to_the_positions,
    ),
    "9.E": (
        evaluate_by_rows,
        evaluate_by_pooling,
        evaluate_with_numpy,
        evaluate_on_copies,
    ),
}
