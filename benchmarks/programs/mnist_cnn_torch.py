"""The MNIST network in straight-line PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..torch_steps import training_step
from .mnist_cnn import data


def build(torch: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    nn = torch.nn
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(7 * 7 * 64, 1024), nn.ReLU(), nn.Dropout(0.5),
        nn.Linear(1024, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    images, labels = data()
    images = np.ascontiguousarray(images.transpose(0, 3, 1, 2))

    def loss_of_batch() -> Any:
        logits = model(torch.as_tensor(images))
        return nn.functional.cross_entropy(logits, torch.as_tensor(labels))

    return training_step(optimizer, loss_of_batch)
