"""Networks as text: their operations, and how many parameters they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import stillflow as tf
from stillflow.graph.export import export, export_value
from stillflow.graph.operation import Tensor
from stillflow_contrib.specs import specs

Printer = Callable[[str], Any]

SHORT_NAMES = export_value(
    "contrib.specs.SHORT_NAMES",
    {
        "BiasAdd": "biasadd",
        "Const": "_",
        "Conv2D": "conv",
        "MatMul": "dot",
        "Placeholder": "_",
        "Sigmoid": "sig",
        "Variable": "var",
    },
)
SHORT_NAMES_SRC = export_value(
    "contrib.specs.SHORT_NAMES_SRC", [text for pair in SHORT_NAMES.items() for text in pair]
)


def _is_opaque(op: Any) -> bool:
    """Return True if an operation's inputs are left out: unrolled recurrent layers."""
    return "/HorizontalLstm/" in op.name


def _with_shape(x: Any, otherwise: Any) -> tuple[Any, Any]:
    """Return the operation of a tensor, with the tensor's shape as a list."""
    return (x.op, x.get_shape().as_list()) if isinstance(x, tf.Tensor) else (x, otherwise)


@export("contrib.specs.tf_structure")
def tf_structure(x: Any, include_shapes: bool = False, finished: set[Any] | None = None) -> str:
    """Return the expression of a tensor: names of operations, inputs first.

    Args:
      x: a tensor or an operation.
      include_shapes: whether to write shapes, too.
      finished: operations that are written as `<>`; those that are met are added.
    """
    finished = set() if finished is None else finished
    x, shape = _with_shape(x, [])
    if x in finished:
        return " <>"
    finished.add(x)
    result = ""
    if not _is_opaque(x):
        result = "".join(tf_structure(y, include_shapes, finished) for y in x.inputs)
    if include_shapes:
        result += f" {shape}"
    if x.type != "Identity":
        result += " " + SHORT_NAMES.get(x.type, x.type.lower())
    return result


@export("contrib.specs.tf_print")
def tf_print(
    x: Any, depth: int = 0, finished: set[Any] | None = None, printer: Printer = print
) -> None:
    """Print the expression of a tensor, as a tree.

    Args:
      x: a tensor or an operation.
      depth: how far lines are indented.
      finished: operations whose inputs are left out; those that are met are added.
      printer: called with each line.
    """
    finished = set() if finished is None else finished
    x, shape = _with_shape(x, "")
    if x.type == "Identity":
        x = x.inputs[0].op
    blank = "  " * depth
    if x in finished:
        printer(f"{blank}<{x.name}> {x.type} {shape}")
        return
    finished.add(x)
    printer(f"{blank}{x.name} {x.type} {shape}")
    if not _is_opaque(x):
        for y in x.inputs:
            tf_print(y, depth + 1, finished, printer=printer)


@export("contrib.specs.tf_num_params")
def tf_num_params(x: Any) -> int:
    """Return the number of elements of the reference variables in a tensor's expression.

    Args:
      x: a tensor or an operation.
    """
    op = x.op if isinstance(x, tf.Tensor) else x
    if op.type in ("Variable", "VariableV2"):
        count: int = op.outputs[0].get_shape().num_elements()
        return count
    return sum(tf_num_params(y) for y in op.inputs)


@export("contrib.specs.tf_left_split")
def tf_left_split(op: Any) -> tuple[Any, Any]:
    """Return the input that a layer is applied to, and its other inputs, including parameters.

    Args:
      op: an operation.

    Returns:
      The first input, of those that are joined where that is what it does, or None; the others.
    """
    inputs = op.inputs
    if not len(inputs):
        return None, []
    first = int(op.type == "Concat")
    return inputs[first], inputs[first + 1 :]


@export("contrib.specs.tf_parameter_iter")
def tf_parameter_iter(x: Any) -> Iterator[tuple[str, int, Any]]:
    """Goes back from a tensor along first inputs.

    Args:
      x: a tensor or an operation.

    Yields:
      For each operation its name, how many parameters its other inputs have, the tensor's shape.
    """
    while x is not None:
        op, shape = _with_shape(x, "")
        x, others = tf_left_split(op)
        yield op.name, sum(tf_num_params(y) for y in others), shape


def _layers(operations: Iterable[tuple[str, int, Any]]) -> Iterator[tuple[str, int, Any]]:
    """Join operations one after the other whose names begin with the same scope."""
    last: tuple[str, int, Any] | None = None
    for name, count, shape in operations:
        scope = name.partition("/")[0]
        if last is not None and scope == last[0]:
            last = (scope, last[1] + count, last[2])
            continue
        if last is not None:
            yield last
        last = (scope, count, shape)
    if last is not None:
        yield last


@export("contrib.specs.tf_parameter_summary")
def tf_parameter_summary(x: Any, printer: Printer = print, combine: bool = True) -> None:
    """Print the number of parameters of each layer, the first layer first.

    Args:
      x: the last tensor.
      printer: called with each line.
      combine: whether operations of one scope count as a layer.
    """
    operations = tf_parameter_iter(x)
    for name, count, shape in reversed(list(_layers(operations) if combine else operations)):
        printer(f"{count:10d} {name:<20s} {shape}")


def _net(spec: str, inputs: Any, input_shape: Any, input_type: Any) -> Tensor:
    if inputs is None:
        inputs = tf.placeholder(input_type, input_shape)
    return specs.create_net(spec, inputs)


@export("contrib.specs.tf_spec_structure")
def tf_spec_structure(
    spec: str, inputs: Any = None, input_shape: Any = None, input_type: Any = tf.float32
) -> str:
    """Return a specification's expression, as `tf_structure` writes it.

    Args:
      spec: the specification.
      inputs: the tensor that it begins with.
      input_shape: of a placeholder, where there is no such tensor.
      input_type: of that placeholder.
    """
    return tf_structure(_net(spec, inputs, input_shape, input_type)).strip()


@export("contrib.specs.tf_spec_summary")
def tf_spec_summary(
    spec: str, inputs: Any = None, input_shape: Any = None, input_type: Any = tf.float32
) -> None:
    """Print the number of parameters of a specification's layers; see `tf_spec_structure`."""
    tf_parameter_summary(_net(spec, inputs, input_shape, input_type))


@export("contrib.specs.tf_spec_print")
def tf_spec_print(
    spec: str, inputs: Any = None, input_shape: Any = None, input_type: Any = tf.float32
) -> None:
    """Print a specification's expression, as a tree; see `tf_spec_structure`."""
    tf_print(_net(spec, inputs, input_shape, input_type))
