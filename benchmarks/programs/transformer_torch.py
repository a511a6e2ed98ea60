"""The transformer in straight-line PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..torch_steps import training_step
from .transformer import HEADS, LAYERS, LENGTH, VOCABULARY, WIDTH, data


def network(torch: Any) -> Any:
    """Return the language model as a module, output weights tied to the embedding."""
    nn, functional = torch.nn, torch.nn.functional

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
            self.q, self.k, self.v, self.output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def heads(self, t: Any) -> Any:
            return t.view(-1, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)

        def forward(self, x: Any) -> Any:
            h = self.norms[0](x)
            q, k, v = (self.heads(f(h)) for f in (self.q, self.k, self.v))
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.output(mixed.transpose(1, 2).reshape(-1, LENGTH, WIDTH))
            inner = functional.gelu(self.up(self.norms[1](x)), approximate="tanh")
            return x + self.down(inner)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(torch.randn(VOCABULARY, WIDTH) * 0.02)
            self.places = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.02)
            self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, tokens: Any) -> Any:
            h = self.layers(functional.embedding(tokens, self.table) + self.places)
            return self.norm(h) @ self.table.T

    return Model()


def build(torch: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    torch.manual_seed(1)
    model = network(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    tokens, following = data()

    def loss_of_batch() -> Any:
        logits = model(torch.as_tensor(tokens)).reshape(-1, VOCABULARY)
        labels = torch.as_tensor(following).reshape(-1).long()
        return torch.nn.functional.cross_entropy(logits, labels)

    def clip() -> None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)

    return training_step(optimizer, loss_of_batch, clip)
