"""Skip-grams by noise-contrastive estimation in straight-line PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..torch_steps import training_step
from .word2vec import SAMPLED, UNITS, VOCABULARY, data


def build(torch: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss.

    The tables have sparse gradients, as TensorFlow's have.
    """
    torch.manual_seed(1)
    functional = torch.nn.functional
    table = torch.nn.Embedding(VOCABULARY, UNITS, sparse=True)
    weights = torch.nn.Embedding(VOCABULARY, UNITS, sparse=True)
    biases = torch.nn.Embedding(VOCABULARY, 1, sparse=True)
    torch.nn.init.uniform_(table.weight, -1, 1)
    torch.nn.init.trunc_normal_(weights.weight, std=UNITS**-0.5)
    torch.nn.init.zeros_(biases.weight)
    optimizer = torch.optim.SGD([table.weight, weights.weight, biases.weight], lr=1.0)
    inputs, labels = data()

    def expected(words: Any) -> Any:
        """Return the logarithms of how often the log-uniform sampler draws words."""
        words = words.float()
        share = torch.log((words + 2) / (words + 1)) / math.log(VOCABULARY + 1)
        return torch.log(-torch.expm1(SAMPLED * torch.log1p(-share)))

    def loss_of_batch() -> Any:
        units = table(torch.as_tensor(inputs))
        true = torch.as_tensor(labels)[:, 0]
        drawn = torch.rand(SAMPLED).mul_(math.log(VOCABULARY + 1)).exp_().long() - 1
        noise = drawn.clamp_(0, VOCABULARY - 1)
        answers = (units * weights(true)).sum(1) + biases(true)[:, 0] - expected(true)
        others = units @ weights(noise).T + biases(noise)[:, 0] - expected(noise)
        return (functional.softplus(-answers) + functional.softplus(others).sum(1)).mean()

    return training_step(optimizer, loss_of_batch)
