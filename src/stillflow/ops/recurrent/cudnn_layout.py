"""Layout of a recurrent network's weights in one vector, as in cuDNN.

First come the weights of all layers, then their biases. A layer has those of its forward direction,
then of the backward one; a direction those that apply to the input, gate by gate, then those that
apply to the state, then a projection. PyTorch's networks have the same gates in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stillflow.graph.lazy import torch

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


@dataclass(frozen=True)
class Layout:
    """The sizes of a network.

    Attributes:
      mode: one of `GATES`.
      layers, units, input_size: how many layers, their size, and that of the input.
      directions: 1, or 2 if there is a backward one.
      projection: the size the state is brought to; 0 for none.
      skips: whether the first layer adds its input to every gate as it is, without weights.
    """

    mode: str
    layers: int
    units: int
    input_size: int
    directions: int
    projection: int = 0
    skips: bool = False

    @property
    def state(self) -> int:
        """The size of the state."""
        return self.projection or self.units

    @property
    def parts(self) -> int:
        """The number of layers times directions."""
        return self.layers * self.directions

    def weights(self, part: int) -> list[tuple[int, int]]:
        """Return the shapes of the weights of a layer's direction, one for each gate."""
        first = part < self.directions
        given = self.input_size if first else self.state * self.directions
        gates = GATES[self.mode]
        rows = 0 if first and self.skips else self.units
        shapes = [(rows, given)] * gates + [(self.units, self.state)] * gates
        return shapes + [(self.projection, self.units)] * bool(self.projection)

    def joined(self, part: int) -> list[tuple[int, int]]:
        """Return the same with all gates in one matrix: input, state, projection."""
        shapes, gates = self.weights(part), GATES[self.mode]
        return [(gates * rows, columns) for rows, columns in shapes[: 2 * gates : gates]] + shapes[
            2 * gates :
        ]

    @property
    def biases(self) -> int:
        """The number of biases of a layer's direction, each as long as the number of units."""
        return 2 * GATES[self.mode]

    @property
    def size(self) -> int:
        """The length of the vector."""
        weights = sum(
            rows * columns for p in range(self.parts) for rows, columns in self.weights(p)
        )
        return weights + self.parts * self.biases * self.units

    def canonical(self, params: Any) -> tuple[list[Any], list[Any]]:
        """Return the weights and biases in a vector, gate by gate."""
        shapes = [shape for part in range(self.parts) for shape in self.weights(part)]
        weights, rest = _cut(params, shapes)
        biases, _ = _cut(rest, [(self.units,)] * (self.parts * self.biases))
        return weights, biases

    def of_torch(self, params: Any) -> list[list[Any]]:
        """Return the weights and biases of each layer's directions in PyTorch's form."""
        shapes = [shape for part in range(self.parts) for shape in self.joined(part)]
        weights, rest = _cut(params, shapes)
        half = GATES[self.mode] * self.units
        biases, _ = _cut(rest, [(half,)] * (2 * self.parts))
        count = len(weights) // self.parts
        found = []
        for part in range(self.parts):
            mine = weights[part * count : (part + 1) * count]
            if part < self.directions and self.skips:
                mine[0] = torch.eye(self.units).to(params).repeat(GATES[self.mode], 1)
            found.append([*mine[:2], *biases[2 * part : 2 * part + 2], *mine[2:]])
        return found


def _cut(vector: Any, shapes: list[Any]) -> tuple[list[Any], Any]:
    """Cut pieces of these shapes off a vector; return them and the rest."""
    pieces, start = [], 0
    for shape in shapes:
        length = shape[0] * (shape[1] if len(shape) > 1 else 1)
        pieces.append(vector[start : start + length].reshape(shape))
        start += length
    return pieces, vector[start:]
