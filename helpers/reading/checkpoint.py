"""An interrupted fine-tuning goes on where it stopped: one file holds its state."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim import Optimizer

from helpers.files import write_whole
from helpers.training import History


class Checkpoint:
    """The state of a fine-tuning before one of its steps, in one safetensors file.

    Args:
        file: where; it is written whole or not at all
        facts: what shapes the run; only a run of the same facts goes on
        every: steps between two savings
    """

    def __init__(self, file: Path, facts: dict[str, Any], every: int = 20) -> None:
        self.file, self.facts, self.every = file, facts, every
        self.state, self._tensors = self._read()

    @property
    def step(self) -> int:
        """How many steps have been taken; 0 without a file."""
        return self.state.get("step", 0)

    def other_facts(self) -> list[str]:
        """Names of the facts in which the file's run differs from this one."""
        kept = self.state.get("facts", self.facts)
        return [name for name in self.facts if kept.get(name) != self.facts[name]]

    def load(self, model: nn.Module, optimizer: Optimizer, accelerator: Any) -> History:
        """Bring model and optimizer to where they were; afterwards `step` counts.

        Args:
            model: not wrapped; changed in place, as is the optimizer
            optimizer: over the model's weights
            accelerator: of all processes; where one of them has not found what the
                others have, all start from the beginning

        Returns:
            What happened until then.
        """
        found = accelerator.gather(torch.tensor([self.step], device=accelerator.device))
        if not found.min():
            self.state = self._tensors = {}
            return History()
        for name, weight in _trained(model).items():
            weight.data.copy_(self._tensors[f"model.{name}"])
        restored: dict[int, dict[str, Tensor]] = {}
        for name, value in self._tensors.items():
            if name.startswith("optimizer."):
                _, index, key = name.split(".")
                restored.setdefault(int(index), {})[key] = value
        optimizer.load_state_dict(optimizer.state_dict() | {"state": restored})
        return History(**self.state["history"])

    def before(
        self,
        step: int,
        model: nn.Module,
        optimizer: Optimizer,
        history: History,
        accelerator: Any,
    ) -> None:
        """Called when a batch is at hand, before its step: loads chance, or saves."""
        if step == self.step:
            for name in _random(accelerator.device) if step else ():
                _set_random(name, self._tensors[name][accelerator.process_index])
            self._tensors = {}
        elif step % self.every == 0:
            self._save(step, model, optimizer, history, accelerator)

    def _save(self, step, model, optimizer, history, accelerator) -> None:
        tensors = {
            name: accelerator.gather(value[None].to(accelerator.device))
            for name, value in _random(accelerator.device).items()
        }
        if not accelerator.is_main_process:
            return
        tensors |= {f"model.{n}": w.data for n, w in _trained(model).items()}
        for index, state in optimizer.state_dict()["state"].items():
            for name, value in state.items():
                tensors[f"optimizer.{index}.{name}"] = value
        state = {"facts": self.facts, "step": step, "history": asdict(history)}
        write_whole(self.file, save(tensors, {"state": json.dumps(state)}))

    def _read(self) -> tuple[dict, dict[str, Tensor]]:
        try:
            with safe_open(self.file, "pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}
                return json.loads(file.metadata()["state"]), tensors
        except (FileNotFoundError, SafetensorError):
            return {}, {}


def _trained(model: nn.Module) -> dict[str, nn.Parameter]:
    named = model.named_parameters()
    return {name: weight for name, weight in named if weight.requires_grad}


def _random(device: torch.device) -> dict[str, Tensor]:
    """The random states that a step depends on."""
    states = {"random": torch.get_rng_state()}
    if device.type == "cuda":
        states["random on the GPU"] = torch.cuda.get_rng_state(device)
    return states


def _set_random(name: str, state: Tensor) -> None:
    where = torch.cuda if "GPU" in name else torch
    where.set_rng_state(state.cpu())
