"""Lesson 09 in other hands: recursion, numpy, library classes, other orders."""

import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

# --- 9.1 WordPiece ---


def wordpiece_by_recursion(word, vocab):
    def cut(rest, first):
        if not rest:
            return []
        for end in range(len(rest), 0, -1):
            piece = rest[:end] if first else "##" + rest[:end]
            if piece in vocab:
                after = cut(rest[end:], False)
                return None if after is None else [piece, *after]
        return None

    return cut(word, True) or ["[UNK]"]


def wordpiece_as_in_bert(word, vocab):
    is_bad, start, output = False, 0, []
    while start < len(word):
        end, current = len(word), None
        while start < end:
            piece = word[start:end]
            if start > 0:
                piece = "##" + piece
            if piece in vocab:
                current = piece
                break
            end -= 1
        if current is None:
            is_bad = True
            break
        output.append(current)
        start = end
    return ["[UNK]"] if is_bad else output


def wordpiece_by_library(word, vocab):
    from tokenizers.models import WordPiece

    ids = {piece: n for n, piece in enumerate(sorted({*vocab, "[UNK]"}))}
    model = WordPiece(vocab=ids, unk_token="[UNK]")
    return [token.value for token in model.tokenize(word)]


def wordpiece_by_max(word, vocab):
    pieces, rest = [], word
    while rest:
        mark = "##" * bool(pieces)
        fitting = [n for n in range(1, len(rest) + 1) if mark + rest[:n] in vocab]
        if not fitting:
            return ["[UNK]"]
        pieces.append(mark + rest[: max(fitting)])
        rest = rest[max(fitting) :]
    return tuple(pieces)


# --- 9.2 masking ---


def mask_with_one_draw(ids, special, mask_id, vocab_size):
    fate = torch.rand(ids.shape).masked_fill(special, 1.0)
    labels = ids.clone()
    labels[fate >= 0.15] = -100
    inputs = ids.clone()
    inputs[fate < 0.12] = mask_id
    drawn = (fate >= 0.12) & (fate < 0.135)
    inputs[drawn] = torch.randint(vocab_size, (int(drawn.sum()),))
    return inputs, labels


def mask_as_in_transformers(ids, special, mask_id, vocab_size):
    inputs, labels = ids.clone(), ids.clone()
    chance = torch.full(labels.shape, 0.15).masked_fill_(special, value=0.0)
    masked = torch.bernoulli(chance).bool()
    labels[~masked] = -100
    replaced = torch.bernoulli(torch.full(labels.shape, 0.8)).bool() & masked
    inputs[replaced] = mask_id
    drawn = torch.bernoulli(torch.full(labels.shape, 0.5)).bool() & masked & ~replaced
    inputs[drawn] = torch.randint(vocab_size, labels.shape, dtype=torch.long)[drawn]
    return inputs, labels


def mask_by_loops(ids, special, mask_id, vocab_size):
    inputs, labels = ids.tolist(), torch.full(ids.shape, -100).tolist()
    for b, row in enumerate(ids.tolist()):
        for t, token in enumerate(row):
            if special[b, t] or random.random() >= 0.15:
                continue
            labels[b][t] = token
            fate = random.random()
            if fate < 0.8:
                inputs[b][t] = mask_id
            elif fate < 0.9:
                inputs[b][t] = random.randrange(vocab_size)
    return torch.tensor(inputs), torch.tensor(labels)


def mask_by_numpy(ids, special, mask_id, vocab_size):
    draw = np.random.default_rng(3)
    tokens = ids.numpy()
    selected = (draw.random(tokens.shape) < 0.15) & ~special.numpy()
    fates = draw.choice(3, tokens.shape, p=[0.8, 0.1, 0.1])
    words = draw.integers(vocab_size, size=tokens.shape)
    changed = np.choose(fates, [np.full_like(tokens, mask_id), words, tokens])
    labels = np.where(selected, tokens, -100)
    return torch.from_numpy(np.where(selected, changed, tokens)), torch.from_numpy(
        labels
    )


# --- 9.3 pairs ---


def pairs_by_numbers(documents):
    found = []
    for n in range(len(documents)):
        for k in range(len(documents[n]) - 1):
            real = random.randint(0, 1) == 1
            if real:
                second = documents[n][k + 1]
            else:
                other = n
                while other == n:
                    other = random.randrange(len(documents))
                second = documents[other][random.randrange(len(documents[other]))]
            found.append((documents[n][k], second, real))
    return found


def pairs_by_torch(documents):
    owners = [(n, text) for n, some in enumerate(documents) for text in some]
    found = []
    for n, sentences in enumerate(documents):
        strangers = [text for owner, text in owners if owner != n]
        for first, following in zip(sentences, sentences[1:], strict=False):
            if torch.rand(()) < 0.5:
                found.append((first, following, True))
            else:
                place = int(torch.randint(len(strangers), ()))
                found.append((first, strangers[place], False))
    return found


def pairs_by_shift(documents):
    def stranger(number):
        other = (number + random.randint(1, len(documents) - 1)) % len(documents)
        return random.choice(documents[other])

    return [
        [first, *((second, True) if random.random() > 0.5 else (stranger(n), False))]
        for n, sentences in enumerate(documents)
        for first, second in zip(sentences[:-1], sentences[1:], strict=True)
    ]


# --- 9.4 the head ---


class HeadInOneLine(nn.Module):
    def __init__(self, d_model, vocab_size):
        super().__init__()
        self.dense = nn.Linear(d_model, d_model)
        self.norm = nn.LayerNorm(d_model, eps=1e-12)
        self.decoder = nn.Linear(d_model, vocab_size)

    def forward(self, hidden):
        return self.decoder(self.norm(F.gelu(self.dense(hidden))))


class HeadByModules(nn.Module):
    def __init__(self, d_model, vocab_size):
        super().__init__()
        self.decoder = nn.Linear(d_model, vocab_size)
        self.norm = nn.LayerNorm(d_model)
        self.gelu = nn.GELU()
        self.dense = nn.Linear(d_model, d_model)

    def forward(self, hidden):
        x = self.gelu(self.dense(hidden))
        return x.new_tensor(0.0) + self.decoder(self.norm(x))


class HeadByFormula(nn.Module):
    def __init__(self, d_model, vocab_size):
        super().__init__()
        self.dense = nn.Linear(d_model, d_model)
        self.decoder = nn.Linear(d_model, vocab_size)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, hidden):
        x = hidden @ self.dense.weight.T + self.dense.bias
        x = x * 0.5 * (1 + torch.erf(x / 2**0.5))
        return self.norm(x) @ self.decoder.weight.T + self.decoder.bias


# --- 9.5 loading and pooling ---


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


# --- 9.6 asking ---


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


# --- 9.7 evaluating ---


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


# --- 9.8 tuning ---


def optimizer_by_list(model):
    return torch.optim.AdamW(list(model.parameters()), 5e-5, weight_decay=0.01)


def optimizer_by_groups(model):
    groups = [{"params": [weight]} for weight in model.parameters()]
    return torch.optim.AdamW(groups, lr=0.00005)


def optimizer_by_names(model):
    weights = [weight for _, weight in model.named_parameters()]
    return torch.optim.AdamW([{"params": weights, "lr": 5e-5}], lr=1.0)


def epoch_clearing_first(model, batches, optimizer, scheduler):
    model.train(True)
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        output = model(**batch)
        output.loss.backward()
        optimizer.step()
        scheduler.step()
        losses += [output.loss.detach()]
    return losses


def epoch_clearing_by_model(model, batches, optimizer, scheduler):
    model.train()
    losses = ()
    for batch in batches:
        model.zero_grad()
        loss = model(**batch)["loss"]
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses = (*losses, float(loss.detach()))
    return losses


def epoch_with_own_loss(model, batches, optimizer, scheduler):
    model.train()
    losses = []
    for batch in batches:
        logits = model(batch["input_ids"], batch["attention_mask"]).logits
        loss = F.cross_entropy(logits, batch["labels"])
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


VARIANTS = {
    "9.1": (
        wordpiece_by_recursion,
        wordpiece_as_in_bert,
        wordpiece_by_library,
        wordpiece_by_max,
    ),
    "9.2": (
        mask_with_one_draw,
        mask_as_in_transformers,
        mask_by_loops,
        mask_by_numpy,
    ),
    "9.3": (pairs_by_numbers, pairs_by_torch, pairs_by_shift),
    "9.4": (HeadInOneLine, HeadByModules, HeadByFormula),
    "9.5": (
        load_by_bert,
        load_by_names,
        load_by_configuration,
        load_for_single_labels,
    ),
    "9.5b": (
        pool_by_loops,
        pool_by_matmul,
        pool_by_einsum,
        pool_by_nan,
        pool_by_float_einsum,
        pool_by_bmm,
    ),
    "9.6": (
        ask_in_inference_mode,
        ask_one_by_one,
        ask_by_exponentials,
        ask_up_to_512,
        ask_up_to_the_positions,
    ),
    "9.7": (
        evaluate_by_rows,
        evaluate_by_pooling,
        evaluate_with_numpy,
        evaluate_on_copies,
    ),
    "9.8": (
        (optimizer_by_list, epoch_clearing_first),
        (optimizer_by_groups, epoch_clearing_by_model),
        (optimizer_by_names, epoch_with_own_loss),
    ),
}
