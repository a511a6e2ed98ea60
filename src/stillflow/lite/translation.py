"""Translation of a TensorFlow Lite model to a graph of TensorFlow operations."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.lite.flatbuffer import Table
from stillflow.lite.flexbuffer import read_map
from stillflow.lite.model_tensors import Array, ModelTensor, Quantization, read_tensor
from stillflow.lite.schema import ACTIVATIONS, OPERATORS, PADDINGS

Value = Tensor | Array


class Node:
    """An operator of a model while it is translated.

    Attributes:
      kind: its name, "CONV_2D".
      options: the table of its options, None if it has none; a custom operator's are a dict.
      inputs: what it reads: constants as arrays, None for what is left out.
      sources: the model's tensors that these are.
      results: the model's tensors that it writes.
    """

    def __init__(
        self,
        kind: str,
        options: Any,
        inputs: list[Value | None],
        sources: list[ModelTensor | None],
        results: list[ModelTensor],
    ) -> None:
        self.kind, self.options, self.inputs = kind, options, inputs
        self.sources, self.results = sources, results

    def __getitem__(self, index: int) -> Tensor | Array | None:
        return self.inputs[index] if index < len(self.inputs) else None

    def constant(self, index: int) -> Array:
        """Return the value of an input that has to be a constant.

        Raises:
          ValueError: If it is none.
        """
        value = self[index]
        if not isinstance(value, np.ndarray):
            raise ValueError(
                f"Input {index} of operator {self.kind} is not a constant, which Stillflow does "
                "not support"
            )
        return value

    def given(self, index: int) -> Tensor | Array:
        """Return an input that has to be there; ValueError if it is left out."""
        value = self[index]
        if value is None:
            raise ValueError(f"Input {index} of operator {self.kind} is missing")
        return value

    def quantization(self, index: int) -> Quantization | None:
        """Return the quantization of an input."""
        source = self.sources[index] if index < len(self.sources) else None
        return source.quantization if source is not None else None

    def quantized(self, index: int) -> Quantization:
        """Return the quantization of an input that has to have one; ValueError if not."""
        found = self.quantization(index)
        if found is None:
            raise ValueError(
                f"Input {index} of the quantized operator {self.kind} is not quantized"
            )
        return found

    @property
    def is_quantized(self) -> bool:
        """True if it computes in quantized integers."""
        return any(
            tensor is not None and tensor.quantization is not None and tensor.dtype.itemsize == 1
            for tensor in (*self.sources[:1], *self.results)
        )

    @property
    def is_hybrid(self) -> bool:
        """True if it computes reals from real values and quantized weights."""
        x, weights = [*self.sources, None, None][:2]
        return (
            x is not None
            and x.dtype == np.float32
            and weights is not None
            and weights.dtype.itemsize == 1
            and weights.quantization is not None
        )

    @property
    def padding(self) -> str:
        """The padding: "SAME" or "VALID"."""
        return PADDINGS[_in_range(self.options.padding, PADDINGS, "padding")]

    @property
    def activation(self) -> str:
        """The activation function that the operator ends with."""
        number = getattr(self.options, "activation", 0)
        return ACTIVATIONS[_in_range(number, ACTIVATIONS, "activation function")]

    def window(self, name: str) -> list[int]:
        """Sizes of a window such as `stride` or `filter`, NHWC."""
        height, width = (getattr(self.options, f"{name}_{side}") for side in "hw")
        if height < 1 or width < 1:
            raise ValueError(f"Operator {self.kind} has a {name} of {height}×{width}")
        return [1, height, width, 1]


def _in_range(number: int, names: Sequence[str], what: str) -> int:
    if not 0 <= number < len(names):
        raise ValueError(f"Unknown {what}: {number}")
    return number


Translate = Callable[[Node], Any]
FLOAT: dict[str, Translate] = {}
QUANTIZED: dict[str, Translate] = {}
HYBRID: dict[str, Translate] = {}


def translates(table: dict[str, Translate], *kinds: str) -> Callable[[Translate], Translate]:
    """Put the decorated function into a table, as the translation of some operators.

    It takes a `Node` and returns a tensor, or a list with one for each output.
    """

    def put(function: Translate) -> Translate:
        table.update(dict.fromkeys(kinds, function))
        return function

    return put


def translation(node: Node) -> tuple[str, Translate | None]:
    """Return the kind of operator, and its translation if there is one."""
    # Importing these fills the tables.
    from stillflow.lite import (  # noqa: F401
        detection,
        float_operators,
        hybrid_operators,
        quantized_operators,
    )

    if node.is_quantized:
        table, manner = QUANTIZED, "quantized "
    elif node.is_hybrid and node.kind in HYBRID:
        table, manner = HYBRID, "hybrid "
    else:
        table, manner = FLOAT, ""
    return manner + node.kind, table.get(node.kind)


class Subgraph:
    """The part of a model that is run, checked.

    Attributes:
      tensors: its tensors.
      inputs, outputs: the indices of its inputs and outputs.
      operators: the kind of each, its options, and the indices of what it reads and writes.
      lacking: the unsupported kinds of operators, and the number of each.

    Args:
      model: the model.

    Raises:
      ValueError: If an index in it leads nowhere.
    """

    def __init__(self, model: Table) -> None:
        if not model.subgraphs:
            raise ValueError("No subgraph in the model.\n")
        graph = model.subgraphs[0]
        self.tensors = [read_tensor(model, tensor) for tensor in graph.tensors or ()]
        self.inputs = self._indices(graph.inputs, "an input of the model")
        self.outputs = self._indices(graph.outputs, "an output of the model")
        self.operators: list[tuple[str, Any, list[int], list[int]]] = []
        for operator in graph.operators or ():
            kind = _kind(model, operator)
            inputs = self._indices(operator.inputs, f"an input of {kind}", optional=True)
            outputs = self._indices(operator.outputs, f"an output of {kind}")
            options = operator.options
            if operator.custom_options is not None:
                options = read_map(operator.custom_options.tobytes())
            self.operators.append((kind, options, inputs, outputs))
        kinds = (translation(self._node(operator, {})) for operator in self.operators)
        self.lacking = collections.Counter(kind for kind, function in kinds if function is None)

    def _indices(self, given: Iterable[int] | None, what: str, optional: bool = False) -> list[int]:
        indices = list(given or ())
        for index in indices:
            if not -1 * optional <= index < len(self.tensors):
                raise ValueError(f"Invalid tensor index {index}, {what}\n")
        return indices

    def _node(self, operator: tuple[Any, ...], values: Mapping[int, Value]) -> Node:
        kind, options, inputs, outputs = operator
        sources = [self.tensors[index] if index >= 0 else None for index in inputs]
        return Node(
            kind,
            options,
            [values.get(index) for index in inputs],
            sources,
            [self.tensors[index] for index in outputs],
        )

    def _empty_constants(self) -> dict[int, Value]:
        """Constants without elements, which have no bytes in a file: the shape of a scalar."""
        written = {index for _, _, _, outputs in self.operators for index in outputs}
        return {
            index: np.empty(tensor.shape, tensor.dtype)
            for index, tensor in enumerate(self.tensors)
            if 0 in tensor.shape and index not in written
        }

    def build(self, shapes: Mapping[int, Sequence[int]]) -> dict[int, Value]:
        """Add the model to the default graph.

        Args:
          shapes: the shapes of the inputs that have others than the file says.

        Returns:
          The tensors by their indices; constants as arrays.

        Raises:
          ValueError: If an operator does not fit what it reads.
        """
        values: dict[int, Value] = {
            index: tensor.value
            for index, tensor in enumerate(self.tensors)
            if tensor.value is not None
        }
        values.update(self._empty_constants())
        for index in self.inputs:
            tensor = self.tensors[index]
            dtype = "string" if tensor.dtype == object else tensor.dtype
            values[index] = tf.placeholder(dtype, shapes.get(index, tensor.shape))
        for operator in self.operators:
            kind, _, inputs, outputs = operator
            missing = [index for index in inputs if index >= 0 and index not in values]
            if missing:
                raise ValueError(
                    f"{kind} reads tensor {self.tensors[missing[0]].name}, which nothing computes"
                )
            node = self._node(operator, values)
            name, translate = translation(node)
            if translate is None:
                raise ValueError(f"The operator {name} is not supported by Stillflow")
            made = translate(node)
            made = made if isinstance(made, (list, tuple)) else [made]
            values.update(zip(outputs, made))
        return values


def _kind(model: Table, operator: Table) -> str:
    codes = model.operator_codes or []
    if not 0 <= operator.opcode_index < len(codes):
        raise ValueError(f"Missing registration for opcode_index {operator.opcode_index}\n")
    code = codes[operator.opcode_index]
    if not 0 <= code.builtin < len(OPERATORS):
        raise ValueError(
            f"Op builtin_code out of range: {code.builtin}. Are you using old TFLite binary with "
            "newer model?\n"
        )
    kind = OPERATORS[code.builtin]
    return f"CUSTOM {code.custom}" if kind == "CUSTOM" else kind
