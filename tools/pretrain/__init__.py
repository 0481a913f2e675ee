"""Trains the small GPT-2 that the course bundles: `python -m tools.pretrain`."""
