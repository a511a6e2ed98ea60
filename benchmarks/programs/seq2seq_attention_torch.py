"""The translation model in straight-line PyTorch: cells in a loop, as the attention feeds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..torch_steps import training_step
from .seq2seq_attention import LAYERS, LENGTH, UNITS, VOCABULARY, data


def network(torch: Any) -> Any:
    """Return the model: GRUs read, cells with Luong's attention write."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(VOCABULARY, UNITS)
            self.encoder = nn.GRU(UNITS, UNITS, LAYERS, batch_first=True)
            sizes = [2 * UNITS] + [UNITS] * (LAYERS - 1)
            self.cells = nn.ModuleList([nn.GRUCell(size, UNITS) for size in sizes])
            self.keys = nn.Linear(UNITS, UNITS, bias=False)
            self.attention = nn.Linear(2 * UNITS, UNITS, bias=False)
            self.output = nn.Linear(UNITS, VOCABULARY)

        def forward(self, source: Any, lengths: Any, inputs: Any) -> Any:
            packed = nn.utils.rnn.pack_padded_sequence(
                self.table(source), lengths, batch_first=True, enforce_sorted=False)
            outputs, states = self.encoder(packed)
            memory, _ = nn.utils.rnn.pad_packed_sequence(
                outputs, batch_first=True, total_length=LENGTH)
            keys, hidden = self.keys(memory), list(states)
            beyond = torch.arange(LENGTH) >= lengths[:, None]
            attended, found = torch.zeros_like(hidden[0]), []
            for word in self.table(inputs).unbind(1):
                below = torch.cat([word, attended], 1)
                for number, cell in enumerate(self.cells):
                    below = hidden[number] = cell(below, hidden[number])
                scores = (keys @ below[:, :, None])[:, :, 0].masked_fill(beyond, -torch.inf)
                context = (scores.softmax(1)[:, None] @ memory)[:, 0]
                attended = self.attention(torch.cat([below, context], 1))
                found.append(attended)
            return self.output(torch.stack(found, 1))

    return Model()


def build(torch: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    torch.manual_seed(1)
    model = network(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    source, lengths, target = data()

    def loss_of_batch() -> Any:
        words = torch.as_tensor(target)
        logits = model(torch.as_tensor(source), torch.as_tensor(lengths).long(), words[:, :-1])
        return torch.nn.functional.cross_entropy(
            logits.reshape(-1, VOCABULARY), words[:, 1:].reshape(-1).long())

    def clip() -> None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)

    return training_step(optimizer, loss_of_batch, clip)
