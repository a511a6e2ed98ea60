"""Heads: from the logits of a model to losses, predictions, metrics and a training step."""

from __future__ import annotations
