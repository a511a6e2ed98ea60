"""Writer of one ONNX graph: names, constants, layouts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.graph.constant_value import Dims
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.value_arrays import to_array
from stillflow.runtime.engines.region import Guarded, Unfit
from stillflow.runtime.ir.step_graph import StepGraph

NHWC, NCHW = "NHWC", "NCHW"
TO_NCHW, TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)
Rule = Callable[["Builder", Operation], "str | Sequence[str | None] | None"]
RULES: dict[str, Rule] = {}
TYPES = frozenset(("float32", "float64", "int32", "int64", "bool"))


def rule(*types: str) -> Callable[[Rule], Rule]:
    """Register the conversion of operations: from a builder and an operation to ONNX names."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(types, function))
        return function

    return register


class Builder:
    """Nodes and constants of an ONNX graph that grows operation by operation.

    A tensor of four dimensions may exist with its channels last, as TensorFlow has it, with its
    channels second, as ONNX's convolutions have it, or both; each form is made when a node asks.

    Args:
      graph: the plan's steps, with known shapes and values.

    Attributes:
      nodes: operator, inputs, outputs and attributes of each node.
      constants: arrays by name.
      guards: integers computed in addition to the outputs, with their bounds.
    """

    strict = True  # whether sizes must be known that decide between values and errors

    def __init__(self, graph: StepGraph) -> None:
        self.graph = graph
        assert graph.facts is not None
        self.facts = graph.facts
        self.nodes: list[tuple[str, list[str], list[str], dict[str, Any]]] = []
        self.constants: dict[str, np.ndarray] = {}
        self.guards: list[Guarded] = []
        self._made: dict[tuple[str, str], str] = {}  # by name of the plan, and layout
        self._count = 0

    # ---- facts about tensors

    def dims(self, tensor: Tensor) -> Dims:
        """Return the dimensions of a tensor as far as the plan knows them."""
        return self.facts.dims(tensor)

    def rank(self, tensor: Tensor) -> int:
        """Return the number of dimensions; Unfit if the plan does not know it."""
        dims = self.dims(tensor)
        if dims is None:
            raise Unfit(f"the rank of {tensor.name} is unknown")
        return len(dims)

    def value(self, tensor: Tensor) -> np.ndarray | None:
        """Return a value that the plan knows; None for others."""
        found = self.facts.value(tensor)
        if found is None:
            value = self.graph.values.get(tensor)
            known = None if value is None else self.graph.constants.get(value.name)
            found = None if known is None or hasattr(known, "value") else to_array(known)
        return found

    def known(self, tensor: Tensor) -> np.ndarray:
        """Return a value that a rule depends on; Unfit if only the run knows it."""
        value = self.value(tensor)
        if value is None:
            raise Unfit(f"{tensor.name} is known only when it runs")
        return value

    def ints(self, tensor: Tensor) -> list[int]:
        """Return known integers as a list."""
        return [int(number) for number in self.known(tensor).reshape(-1)]

    # ---- names

    def constant(self, array: Any, dtype: Any = None) -> str:
        """Return the name of a new constant."""
        name = self.fresh("c")
        self.constants[name] = np.ascontiguousarray(np.asarray(array, dtype)).reshape(
            np.shape(array)
        )
        return name

    def fresh(self, prefix: str = "v") -> str:
        """Return an unused name."""
        self._count += 1
        return f"{prefix}_{self._count}"

    def add(self, kind: str, inputs: Sequence[str], outputs: int = 1, **attrs: Any) -> Any:
        """Add a node; return the name of its output, or a list of names."""
        names = [self.fresh() for _ in range(outputs)]
        self.nodes.append((kind, list(inputs), names, attrs))
        return names[0] if outputs == 1 else names

    def put(self, tensor: Tensor, name: str, layout: str = NHWC) -> None:
        """Record the name of a tensor's value."""
        self._made[self.graph.values[tensor].name, layout] = name

    def bind(self, plan_name: str, name: str) -> None:
        """Record the name of a value of the plan that the model takes as an input."""
        self._made[plan_name, NHWC] = name

    def has(self, tensor: Tensor) -> bool:
        """Return True if a tensor has a name."""
        key = self.graph.values[tensor].name
        return (key, NHWC) in self._made or (key, NCHW) in self._made

    def __call__(self, tensor: Tensor) -> str:
        """Return the name of a tensor's value."""
        value = functools.partial(self.value, tensor)
        return self.channels_last(self._key(tensor), value, f"{tensor.name} is made elsewhere")

    def channels_last(self, key: Any, value: Callable[[], np.ndarray | None], missing: str) -> str:
        """Return the name of the value under a key, or of a constant; Unfit if there is neither."""
        found = self._made.get((key, NHWC))
        if found is not None:
            return found
        second = self._made.get((key, NCHW))
        if second is not None:
            found = self.transposed(second, TO_NHWC)
        else:
            held = value()
            if held is None:
                raise Unfit(missing)
            found = self.constant(held)
        self._made[key, NHWC] = found
        return found

    def size(self, tensor: Tensor, axis: int, what: str) -> int:
        """Return the size of an axis; Unfit with the name for it if it is unknown."""
        dims = self.dims(tensor)
        size = None if dims is None else dims[axis]
        if size is None:
            raise Unfit(f"{what} is unknown")
        return size

    def channels_second(self, tensor: Tensor) -> str:
        """Return the name of a tensor's value with its channels second."""
        key = self._key(tensor)
        found = self._made.get((key, NCHW))
        if found is None:
            value = self.value(tensor)
            found = (
                self.transposed(self(tensor), TO_NCHW)
                if value is None
                else self.constant(value.transpose(TO_NCHW))
            )
            self._made[key, NCHW] = found
        return found

    def is_second(self, tensor: Tensor) -> bool:
        """Return True if a tensor exists with its channels second alone."""
        key = self._key(tensor)
        return (key, NCHW) in self._made and (key, NHWC) not in self._made

    def transposed(self, name: str, order: Sequence[int]) -> str:
        """Return the name of a value with its dimensions in another order."""
        return str(self.add("Transpose", [name], perm=list(order)))

    def _key(self, tensor: Tensor) -> str:
        value = self.graph.values.get(tensor)
        if value is None or value.guard or value.guard is None or value.is_handle:
            raise Unfit(f"{tensor.name} is in a branch, or no number")
        return value.name
