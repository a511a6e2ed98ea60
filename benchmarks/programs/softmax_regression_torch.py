"""Softmax regression in straight-line PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..torch_steps import training_step
from .softmax_regression import data


def build(torch: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    pixels, labels = data()
    w = torch.zeros(784, 10, requires_grad=True)
    b = torch.zeros(10, requires_grad=True)
    optimizer = torch.optim.SGD([w, b], lr=0.1)

    def loss_of_batch() -> Any:
        x, y = torch.as_tensor(pixels), torch.as_tensor(labels)
        return torch.nn.functional.cross_entropy(torch.addmm(b, x, w), y)

    return training_step(optimizer, loss_of_batch)
