"""The wide and deep model in straight-line PyTorch: one table of all classes for each part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..torch_steps import training_step
from .wide_and_deep import CLASSES, NUMBERS, SIZE, data


def build(torch: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss.

    The tables have sparse gradients, as TensorFlow's have.
    """
    torch.manual_seed(1)
    nn = torch.nn
    embedded, wide = (nn.Embedding(CLASSES * SIZE, width, sparse=True) for width in (8, 1))
    nn.init.zeros_(wide.weight)
    hidden, output = nn.Linear(NUMBERS + 8 * CLASSES, 64), nn.Linear(64, 1)
    bias = nn.Parameter(torch.zeros(1))
    parts = nn.ModuleList([embedded, wide, hidden, output])
    parameters = [bias, *parts.parameters()]
    optimizer = torch.optim.Adagrad(parameters, lr=0.05, initial_accumulator_value=0.1)
    numbers, classes = data()
    places = SIZE * np.arange(CLASSES)

    def loss_of_batch() -> Any:
        given = torch.as_tensor(np.concatenate(numbers, 1))
        rows = torch.as_tensor(np.concatenate(classes, 1) + places)
        deep = torch.cat([given, embedded(rows).flatten(1)], 1)
        result = output(torch.relu(hidden(deep))) + wide(rows).sum(1) + bias
        return (result - 1).square().mean()

    return training_step(optimizer, loss_of_batch)
