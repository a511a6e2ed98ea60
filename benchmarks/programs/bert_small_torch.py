"""BERT-small in straight-line PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..torch_steps import training_step
from .bert_small import HEADS, LAYERS, LENGTH, RATE, VOCABULARY, WIDTH, data


def network(torch: Any) -> Any:
    """Return the encoder as a module, output weights tied to the embedding."""
    nn, functional = torch.nn, torch.nn.functional

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v, self.output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.norms = nn.ModuleList([nn.LayerNorm(WIDTH, 1e-12) for _ in range(2)])

        def heads(self, t: Any) -> Any:
            return t.view(-1, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)

        def forward(self, x: Any, mask: Any) -> Any:
            q, k, v = (self.heads(part(x)) for part in (self.q, self.k, self.v))
            mixed = functional.scaled_dot_product_attention(q, k, v, mask, dropout_p=RATE)
            mixed = self.output(mixed.transpose(1, 2).reshape(-1, LENGTH, WIDTH))
            x = self.norms[0](x + functional.dropout(mixed, RATE))
            inner = self.down(functional.gelu(self.up(x)))
            return self.norms[1](x + functional.dropout(inner, RATE))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(torch.randn(VOCABULARY, WIDTH) * 0.02)
            self.positions = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.02)
            self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])

        def forward(self, tokens: Any, lengths: Any, at: Any) -> Any:
            mask = (torch.arange(LENGTH) >= lengths[:, None]).float()[:, None, None] * -10000.0
            h = functional.embedding(tokens, self.table) + self.positions
            for each in self.layers:
                h = each(h, mask)
            return h.view(-1, WIDTH)[at] @ self.table.T

    return Model()


def build(torch: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    torch.manual_seed(1)
    model = network(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    given = data()

    def loss_of_batch() -> Any:
        tokens, lengths, at, labels = map(torch.as_tensor, given)
        return torch.nn.functional.cross_entropy(model(tokens, lengths, at), labels.long())

    def clip() -> None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)

    return training_step(optimizer, loss_of_batch, clip)
