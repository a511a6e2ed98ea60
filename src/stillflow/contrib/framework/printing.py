"""Tensors that print their description, with their values, whenever they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor

# Kinds of values that can be described, and their names.
_KINDS = (
    (tf.Tensor, "Tensor"),
    (tf.SparseTensor, "SparseTensor"),
    (tf.TensorArray, "TensorArray"),
    (tf.Variable, "Variable"),
)


def _kind(value: Any) -> str:
    for each, word in _KINDS:
        if isinstance(value, each):
            return word
    raise ValueError("t must be a Tensor, SparseTensor, TensorArray or Variable.")


def _shape_of(value: Any) -> list[Any]:
    if isinstance(value, tf.SparseTensor):
        return [tf.constant("Shape:"), value.dense_shape]
    if isinstance(value, tf.Tensor):
        return [tf.constant(f"Shape: {value.get_shape().dims}")]
    if isinstance(value, tf.TensorArray):
        return [tf.constant("Size:"), value.size()]
    return []


def _value_of(value: Any) -> list[Any]:
    if isinstance(value, tf.SparseTensor):
        indices = [tf.constant("Sparse indices:"), value.indices]
        return [*indices, tf.constant("Sparse values:"), value.values]
    if isinstance(value, tf.Tensor):
        return [tf.constant("Value:"), value]
    if isinstance(value, tf.TensorArray):
        return [tf.constant("Value:"), value.stack()]
    return []


def _described(value: Any, name: bool, kind: bool, shape: bool, first_true: bool) -> list[Any]:
    """Return the description of `value`, as tensors to print."""
    found = []
    if name and isinstance(value, tf.Tensor):
        found.append(tf.constant("Name: " + value.name))
    if kind:
        found.append(tf.constant(f"Type: {_kind(value)} ({value.dtype.name})"))
    if shape:
        found += _shape_of(value)
    if first_true and value.dtype == tf.bool:
        numbers = tf.cast(value, tf.uint8)
        found += [tf.constant("First True in Boolean tensor at:"), tf.argmax(numbers, 0)]
    return found + _value_of(value)


def print_op(
    input_: Any,
    data: Sequence[Any] | None = None,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int = 20,
    print_tensor_name: bool = True,
    print_tensor_type: bool = True,
    print_shape: bool = True,
    summarize_indicator_vector: bool = True,
    name: str | None = None,
) -> Any:
    """`input_`, which prints itself on stderr whenever it is computed.

    Args:
      input_: a Tensor, SparseTensor, TensorArray or Variable of any dtype.
      data: more of these to print.
      message: prefix of lines.
      first_n: how often it prints; always if None or negative.
      summarize: how many elements of each are shown.
      print_tensor_name: whether names of tensors are printed.
      print_tensor_type: whether kinds and dtypes are.
      print_shape: whether shapes are.
      summarize_indicator_vector: whether it is said where booleans are first true.
      name: of the operation that prints.

    Raises:
      ValueError: if `input_` or something of `data` is nothing that can be printed.
    """
    if input_ is None:
        raise ValueError("input_ must be of type Tensor, SparseTensor or TensorArray")
    parts = (print_tensor_name, print_tensor_type, print_shape, summarize_indicator_vector)
    printed = [part for each in [input_, *(data or [])] for part in _described(each, *parts)]

    def prints(passed: Any) -> Tensor:
        return tf.Print(passed, printed, message or "", first_n, summarize, name)

    if isinstance(input_, (tf.Tensor, tf.Variable)):
        return prints(input_)
    if isinstance(input_, tf.SparseTensor):
        with tf.control_dependencies([prints(tf.constant([]))]):
            return tf.SparseTensor(
                tf.identity(input_.indices),
                tf.identity(input_.values),
                tf.identity(input_.dense_shape),
            )
    if isinstance(input_, tf.TensorArray):
        with tf.control_dependencies([prints(tf.constant([]))]):
            # As in TensorFlow, nothing makes readers of this array wait for the printing.
            return tf.TensorArray(input_.dtype, handle=input_.handle, flow=input_.flow)
    return input_
