"""Independent solutions to 9.F."""

import torch
import torch.nn.functional as F


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
    "9.F": (
        (optimizer_by_list, epoch_clearing_first),
        (optimizer_by_groups, epoch_clearing_by_model),
        (optimizer_by_names, epoch_with_own_loss),
    ),
}
