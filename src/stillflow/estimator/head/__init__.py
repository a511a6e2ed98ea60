"""Heads: what turns the logits of a model into losses, predictions, metrics and a step."""

from __future__ import annotations
