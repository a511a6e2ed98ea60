"""The LSTM over rows of pixels in straight-line PyTorch: its own fused layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..torch_steps import training_step
from .dynamic_rnn import CLASSES, UNITS, data


def build(torch: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    torch.manual_seed(1)
    layer = torch.nn.LSTM(28, UNITS, batch_first=True)
    output = torch.nn.Linear(UNITS, CLASSES, bias=False)
    optimizer = torch.optim.SGD([*layer.parameters(), *output.parameters()], lr=0.5)
    pixels, labels = data()

    def loss_of_batch() -> Any:
        outputs, _ = layer(torch.as_tensor(pixels))
        logits = output(outputs[:, -1])
        return torch.nn.functional.cross_entropy(logits, torch.as_tensor(labels))

    return training_step(optimizer, loss_of_batch)
