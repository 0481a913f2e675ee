"""Training, small enough to read: one loop, learning rates, a progress bar."""

from helpers import first_edition
from helpers.training.bar import progress
from helpers.training.loop import History, repeat, train
from helpers.training.schedules import half_cosine, noam_schedule

__all__ = ["History", "half_cosine", "noam_schedule", "progress", "repeat", "train"]
__getattr__ = first_edition.forwarding(__name__)
