"""Names of nodes, constants and facts for the form of one operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from stillflow.export.onnx_models.forms import COMPLEX, FORMS, Scope
from stillflow.export.onnx_models.regions.builder import Builder
from stillflow.graph.operation import Operation, Tensor

Form = Callable[["Nodes"], Any]


class Nodes:
    """Names of an operation's form as attributes: `o.Add(o.x, 1)` makes a node.

    Attributes:
      b: the builder of the graph.
    """

    def __init__(self, b: Builder, op: Operation) -> None:
        self.b, self._scope = b, Scope(b, op)

    def __getattr__(self, name: str) -> Any:
        return self._scope[name]

    def sizes(self, tensor: Tensor, first: int = 0, last: int | None = None) -> tuple[int, ...]:
        """Return the sizes of some axes, which must be known."""
        dims = self.b.dims(tensor)
        part = (None,) if dims is None else dims[first:last]
        self.only(None not in part, "of unknown sizes")
        return cast("tuple[int, ...]", part)

    def inside(self, value: str, low: Any, high: Any) -> str:
        """Return integers or floats brought into a range that includes both ends."""
        return str(self.Min(self.Max(value, low), high))

    def size(self, value: str, axis: int) -> str:
        """Return the size of an axis that is counted from the front, int64 [1]."""
        return str(self.Shape(value, start=axis, end=axis + 1))

    def count(self, value: str, axis: int) -> str:
        """Return the size of an axis, an int64 scalar."""
        return str(self.Squeeze(self.size(value, axis)))

    def numbers(self, count: Any) -> str:
        """Return 0, 1, ... below a count, an int64 scalar or vector of one: int64 [count]."""
        return str(self.Range(np.int64(0), self.Squeeze(count), np.int64(1)))


def form(*types: str, complex_numbers: bool = False) -> Callable[[Form], Form]:
    """Register the form of operations; few take or give complex numbers."""

    def register(function: Form) -> Form:
        FORMS.update(dict.fromkeys(types, lambda b, op: function(Nodes(b, op))))
        COMPLEX.update(types if complex_numbers else ())
        return function

    return register
