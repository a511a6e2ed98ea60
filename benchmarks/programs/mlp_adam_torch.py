"""The perceptron with Adam in straight-line PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..torch_steps import training_step
from .mlp_adam import data, initial_weights


def build(torch: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    functional = torch.nn.functional
    pixels, labels = data()
    weights = [torch.tensor(w, requires_grad=True) for w in initial_weights()]
    biases = [torch.zeros(w.shape[1], requires_grad=True) for w in weights]
    optimizer = torch.optim.Adam(weights + biases, lr=1e-3)

    def loss_of_batch() -> Any:
        h = torch.as_tensor(pixels)
        for w, b in zip(weights[:-1], biases[:-1]):
            h = functional.relu(torch.addmm(b, h, w))
        logits = torch.addmm(biases[-1], h, weights[-1])
        return functional.cross_entropy(logits, torch.as_tensor(labels))

    return training_step(optimizer, loss_of_batch)
