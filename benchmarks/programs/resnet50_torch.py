"""ResNet-50 in straight-line PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..torch_steps import training_step
from .resnet50 import CLASSES, STAGES, data


def network(nn: Any) -> Any:
    """Return the residual network as a module."""
    def conv(inputs: int, outputs: int, size: int, stride: int = 1) -> Any:
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False),
            nn.BatchNorm2d(outputs))

    class Block(nn.Module):
        def __init__(self, inputs: int, filters: int, stride: int) -> None:
            super().__init__()
            self.inner = nn.Sequential(
                conv(inputs, filters, 1), nn.ReLU(), conv(filters, filters, 3, stride), nn.ReLU(),
                conv(filters, 4 * filters, 1))
            is_first = inputs != 4 * filters
            self.shortcut = conv(inputs, 4 * filters, 1, stride) if is_first else nn.Identity()

        def forward(self, x: Any) -> Any:
            return nn.functional.relu(self.inner(x) + self.shortcut(x))

    layers, inputs = [conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for filters, blocks, stride in STAGES:
        for index in range(blocks):
            layers.append(Block(inputs, filters, stride if index == 0 else 1))
            inputs = 4 * filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, CLASSES))


def build(torch: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    torch.manual_seed(1)
    model = network(torch.nn)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    pixels, classes = data()
    pixels = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))

    def loss_of_batch() -> Any:
        logits = model(torch.as_tensor(pixels))
        return torch.nn.functional.cross_entropy(logits, torch.as_tensor(classes))

    return training_step(optimizer, loss_of_batch)
