"""Sentences classified by convolutions in straight-line PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..torch_steps import training_step
from .text_cnn import FILTERS, UNITS, VOCABULARY, data


def build(torch: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    torch.manual_seed(1)
    nn, functional = torch.nn, torch.nn.functional
    table = nn.Embedding(VOCABULARY, UNITS)
    windows = nn.ModuleList([nn.Conv1d(UNITS, FILTERS, size) for size in (3, 4, 5)])
    output = nn.Linear(3 * FILTERS, 2)
    parameters = [*table.parameters(), *windows.parameters(), *output.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    words, labels = data()

    def loss_of_batch() -> Any:
        sentences = table(torch.as_tensor(words)).transpose(1, 2)
        answers = [functional.relu(window(sentences)).amax(2) for window in windows]
        logits = output(functional.dropout(torch.cat(answers, 1), 0.5))
        return functional.cross_entropy(logits, torch.as_tensor(labels))

    return training_step(optimizer, loss_of_batch)
