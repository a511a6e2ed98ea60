"""Affine maps of several arguments, with variables in the variable scope around them."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.operation import Tensor
from stillflow.nn.rnn_cell.base import BIAS, KERNEL


def _width(args: list[Any]) -> int:
    """Return the number of columns of all arguments together."""
    shapes = [value.get_shape() for value in args]
    total = 0
    for shape in shapes:
        if shape.ndims != 2:
            raise ValueError(f"linear is expecting 2D arguments: {shapes}")
        if shape.dims[1].value is None:
            raise ValueError(
                f"linear expects shape[1] to be provided for shape {shape}, but saw {shape[1]}"
            )
        total += shape.dims[1].value
    return total


def _as_list(args: Any) -> list[Any]:
    if args is None or (nest.is_sequence(args) and not args):
        raise ValueError("`args` must be specified")
    return list(args) if nest.is_sequence(args) else [args]


class Linear:
    """`concat(args) W + b`: makes its variables at once, and is called with such arguments.

    Args:
      args: a tensor [batch, n], or a list of them.
      output_size: the number of columns of the result.
      build_bias: whether there is a bias.
      bias_initializer: zeros by default.
      kernel_initializer: that of the variable scope by default.

    Raises:
      ValueError: if there are no arguments, or they are no matrices of known width.
    """

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        self._build_bias = build_bias
        args = _as_list(args)
        width, dtype = _width(args), args[0].dtype
        with tf.variable_scope(tf.get_variable_scope()) as outer:
            self._weights = tf.get_variable(
                KERNEL, [width, output_size], dtype=dtype, initializer=kernel_initializer
            )
            if build_bias:
                self._biases = bias_variable(outer, output_size, dtype, bias_initializer)

    def __call__(self, args: Any) -> Tensor:
        args = _as_list(args)
        joined = args[0] if len(args) == 1 else tf.concat(args, tf.constant(1, dtype=tf.int32))
        result = tf.matmul(joined, self._weights)
        return tf.nn.bias_add(result, self._biases) if self._build_bias else result


def bias_variable(outer: Any, size: int, dtype: Any, initializer: Any = None) -> Any:
    """Return a bias in the scope `outer`, never split into parts."""
    with tf.variable_scope(outer) as inner:
        inner.set_partitioner(None)
        if initializer is None:
            initializer = tf.constant_initializer(0.0, dtype=dtype)
        return tf.get_variable(BIAS, [size], dtype=dtype, initializer=initializer)


def linear(
    args: Any,
    output_size: int,
    bias: bool,
    bias_initializer: Any = None,
    kernel_initializer: Any = None,
    add_bias: bool = True,
) -> Any:
    """Return the same in one call; with `add_bias=False` the bias is made but not added."""
    args = _as_list(args)
    width, dtype = _width(args), args[0].dtype
    with tf.variable_scope(tf.get_variable_scope()) as outer:
        weights = tf.get_variable(
            KERNEL, [width, output_size], dtype=dtype, initializer=kernel_initializer
        )
        result = tf.matmul(args[0] if len(args) == 1 else tf.concat(args, 1), weights)
        if not bias:
            return result
        biases = bias_variable(outer, output_size, dtype, bias_initializer)
        return tf.nn.bias_add(result, biases) if add_bias else result


class Linears:
    """The affine maps of a cell: each is made where it is first used."""

    def __init__(self) -> None:
        self._made: dict[Any, Linear] = {}

    def __call__(self, key: Any, args: Any, output_size: int, bias: bool = True) -> Tensor:
        if key not in self._made:
            self._made[key] = Linear(args, output_size, bias)
        return self._made[key](args)

    def __deepcopy__(self, memo: Any) -> Linears:
        return Linears()
