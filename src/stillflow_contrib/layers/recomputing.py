"""Functions whose activations are recomputed for gradients, instead of kept."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.contrib.framework.argument_scope import arg_scope, current_arg_scope
from stillflow.graph import tapes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.util.function_utils import fn_args
from stillflow.variables.base import Variable

_OTHER_VARIABLES = (
    "The variables used on recompute were different than the variables originally\n"
    "used. The function wrapped with @recompute_grad likley creates its own variable\n"
    "scope with a default name and has been called twice in the same enclosing scope.\n"
    "To fix, ensure each call to the function happens in its own unique variable\n"
    "scope.\n"
)
_DEFAULT = "__rev_block_lib_default"


def _with_arguments(decorator: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decorator that may be used with and without arguments."""

    @functools.wraps(decorator)
    def decorate(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and callable(args[0]):
            return decorator(args[0])
        return lambda function: decorator(function, *args, **kwargs)

    return decorate


@export("contrib.layers.recompute_grad")
@_with_arguments
def recompute_grad(
    fn: Callable[..., Any], use_data_dep: Any = _DEFAULT, tupleize_grads: bool = False
) -> Callable[..., Any]:
    """Make a function whose gradient calls it again, so that nothing in it is kept till then.

    Args:
      fn: a function of tensors, which closes over none; it may take `is_recomputing`.
      use_data_dep: whether data, not control dependencies hold the second call back until
        gradients are there.
      tupleize_grads: whether no gradient is used before all are there.

    Returns:
      The function; or a decorator, if there are only keywords.

    Raises:
      ValueError: if the function closes over a tensor or a variable, or when it is called with
        something else, or uses other variables when it is called again.
    """
    names = fn.__code__.co_freevars
    for name, cell in zip(names, fn.__closure__ or ()):
        value = cell.cell_contents
        if isinstance(value, (Tensor, Variable)):
            raise ValueError(
                f"fn decorated with @recompute_grad closes over Tensor {value.name} (local "
                f"variable name: {name}). The decorated fn must not close over Tensors or "
                "Variables because gradients will NOT be computed for them through fn. To ensure "
                "correct gradients, make the Tensor an input to fn."
            )
    by_data = use_data_dep is True  # the default is a matter of TPUs

    @functools.wraps(fn)
    def wrapped(*args: Any) -> Tensor:
        if not all(isinstance(arg, Tensor) for arg in args):
            raise ValueError("All inputs to function must be Tensors")
        return _Recomputed(fn, by_data, tupleize_grads).call(args)

    return wrapped


class _Recomputed:
    """Call of a function, which can be repeated."""

    def __init__(self, fn: Callable[..., Any], by_data: bool, tupleize_grads: bool) -> None:
        self._fn = fn
        self._by_data = by_data
        self._tupleize_grads = tupleize_grads
        self._says = "is_recomputing" in fn_args(fn)

    def _watched(self, args: Any, again: bool) -> tuple[Any, list[Any]]:
        """Return the function's results, and its variables."""
        kwargs = {"is_recomputing": again} if self._says else {}
        with tapes.recording(tapes.Tape()) as tape:
            outputs = self._fn(*args, **kwargs)
        return outputs, list(tape.watched_variables())

    def call(self, args: Any) -> Tensor:
        """Call it for the first time."""

        @tf.custom_gradient
        def run(*args: Any) -> tuple[Tensor, Callable[..., Any]]:
            self._scope, self._arg_scope = tf.get_variable_scope(), current_arg_scope()
            self._args = args
            outputs, self._variables = self._watched(args, again=False)

            if self._variables:
                return outputs, self._gradients
            return outputs, lambda *output_grads: self._gradients(*output_grads)[0]

        return run(*args)

    def _gradients(self, *output_grads: Any, **named: Any) -> tuple[Any, Any]:
        """Return the gradients of the arguments and of the named `variables`, by a second call."""
        variables = list(named.get("variables", ()))
        if not _same(variables, self._variables):
            raise ValueError(_OTHER_VARIABLES)
        inputs = [tf.identity(each) for each in self._args]
        with tf.control_dependencies([grad for grad in output_grads if grad is not None]):
            if self._by_data:
                inputs = _after(output_grads, inputs)
            with arg_scope(self._arg_scope), tf.variable_scope(self._scope, reuse=True):
                outputs, used = self._watched(inputs, again=True)
            if not _same(used, self._variables):
                raise ValueError(_OTHER_VARIABLES)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        grads = tf.gradients(outputs, inputs + variables, list(output_grads))
        if self._tupleize_grads:
            grads = _after(grads, grads) if self._by_data else tf.tuple(grads)
        return grads[: len(inputs)], grads[len(inputs) :]


def _same(first: list[Any], second: list[Any]) -> bool:
    return {id(each) for each in first} == {id(each) for each in second}


def _after(first: Any, then: Any) -> list[Any]:
    """Tensors that cannot be computed before others: these are added to them, times nothing."""
    corners = tf.add_n([_corner(tensor) for tensor in first if tensor is not None])
    if not corners.dtype.is_floating:
        raise ValueError("_force_data_dependency only supports floating dtypes.")
    least = np.finfo(corners.dtype.as_numpy_dtype).tiny
    zero = tf.stop_gradient(least * corners)
    return [None if tensor is None else tf.identity(tensor) + zero for tensor in then]


def _corner(tensor: Any) -> Tensor:
    rank = tensor.get_shape().ndims
    if rank is None:
        raise ValueError(f"Rank of Tensor {tensor} must be known")
    origin_and_size = (tf.convert_to_tensor([n] * rank, dtype=tf.int32) for n in (0, 1))
    return tf.reshape(tf.slice(tensor, *origin_and_size), [])
