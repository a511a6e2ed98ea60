"""ResNet-20 in straight-line PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..torch_steps import training_step
from .resnet20 import BLOCKS, STAGES, data


def network(nn: Any) -> Any:
    """Return the residual network as a module."""
    def conv(inputs: int, outputs: int, stride: int = 1, size: int = 3) -> Any:
        layers = [nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False),
                  nn.BatchNorm2d(outputs)]
        return nn.Sequential(*layers)

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.first, self.second = conv(inputs, outputs, stride), conv(outputs, outputs)
            self.shortcut = None if stride == 1 else conv(inputs, outputs, stride, 1)

        def forward(self, x: Any) -> Any:
            shortcut = x if self.shortcut is None else self.shortcut(x)
            return nn.functional.relu(
                self.second(nn.functional.relu(self.first(x))) + shortcut)

    layers, inputs = [conv(3, 16), nn.ReLU()], 16
    for outputs, stride in STAGES:
        for index in range(BLOCKS):
            layers.append(Block(inputs, outputs, stride if index == 0 else 1))
            inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def build(torch: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    torch.manual_seed(1)
    model = network(torch.nn)
    kernels = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim == 1]
    optimizer = torch.optim.SGD(
        [{"params": kernels, "weight_decay": 1e-4}, {"params": others}], lr=0.1, momentum=0.9)
    pixels, classes = data()
    pixels = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))

    def loss_of_batch() -> Any:
        logits = model(torch.as_tensor(pixels))
        return torch.nn.functional.cross_entropy(logits, torch.as_tensor(classes))

    return training_step(optimizer, loss_of_batch)
