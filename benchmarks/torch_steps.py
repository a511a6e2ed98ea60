"""Training steps of the peers in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def training_step(
    optimizer: Any, loss_of_batch: Callable[[], Any], clip: Callable[[], Any] | None = None
) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss.

    Args:
      optimizer: one of `torch.optim`.
      loss_of_batch: computes the loss.
      clip: clips the gradients; None leaves them as they are.
    """

    def step() -> float:
        loss = loss_of_batch()
        optimizer.zero_grad()
        loss.backward()
        if clip is not None:
            clip()
        optimizer.step()
        return float(loss.item())

    return step
