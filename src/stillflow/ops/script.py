"""Python functions as operations: `tf.py_func`."""

from __future__ import annotations

import itertools
import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.ops.printing import as_array

_SIGNATURE = """(input: [Tin]) -> output: [Tout]
    token: string
    Tin: list(type) >= 0
    Tout: list(type) >= 0
"""
py_func_op = op(f"PyFunc{_SIGNATURE}    flags: stateful", differentiable=False)
# Whoever says "stateless" still expects the function to be called in every step.
py_func_stateless_op = op(f"PyFuncStateless{_SIGNATURE}", differentiable=False, effect="state")

# A function lives as long as the graph that calls it.
_functions: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()
_numbers = itertools.count()
_CODES: tuple[tuple[tuple[type[BaseException], ...], type[errors.OpError]], ...] = (
    ((ValueError, TypeError), errors.InvalidArgumentError),
    ((StopIteration,), errors.OutOfRangeError),
    ((MemoryError,), errors.ResourceExhaustedError),
    ((NotImplementedError,), errors.UnimplementedError),
)


class _Function:
    """What a token stands for; plain functions do not always take weak references."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call


def _shape(node: Node) -> Any:
    return [None] * len(node.outputs)


def _argument(value: Any) -> Any:
    array = as_array(value)
    return array[()] if array.ndim == 0 else array


def _array(value: Any) -> np.ndarray:
    array = np.asarray(value, order="C")
    if array.dtype.kind in "SU":
        encode = np.frompyfunc(lambda s: s.encode() if isinstance(s, str) else bytes(s), 1, 1)
        return np.asarray(encode(array), dtype=object)
    return array


def _as_output(token: str, index: int, array: np.ndarray, dtype: Any) -> Any:
    found = dtypes.string if array.dtype == object else dtypes.as_dtype(array.dtype)
    if found != dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{index}-th value returned by {token} is {_cpp_name(found)}, "
            f"but expects {_cpp_name(dtype)}",
        )
    if array.dtype == object:
        return array
    return torch.from_numpy(np.array(array, order="C"))


def _cpp_name(dtype: Any) -> str:
    names = {"float32": "float", "float64": "double", "float16": "half"}
    return names.get(dtype.name, str(dtype.name))


def _called(function: Callable[..., Any], args: Sequence[Any]) -> list[np.ndarray]:
    try:
        result = function(*args)
    except errors.OpError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
        known = (kind for types, kind in _CODES if isinstance(error, types))
        kind: Any = next(known, errors.UnknownError)
        raise kind(None, None, text) from error
    if result is None:
        return []
    if isinstance(result, (tuple, list)):
        return [_array(value) for value in result]
    return [_array(result)]


def _kernel(node: Node) -> Any:
    token = node.token
    types = list(node.Tout)
    holder = _functions.get(token)
    if holder is None:
        raise errors.InvalidArgumentError(
            None, None, f"ValueError: callback {token.decode()} is not found"
        )

    def run(*inputs: Any) -> Any:
        arrays = _called(holder.call, [_argument(value) for value in inputs])
        name = token.decode()
        if len(arrays) != len(types):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{name} returns {len(arrays)} values, but expects to see {len(types)} values.",
            )
        outputs = [
            _as_output(name, index, array, dtype)
            for index, (array, dtype) in enumerate(zip(arrays, types, strict=True))
        ]
        return outputs[0] if len(outputs) == 1 else outputs

    return run


for _card in (py_func_op, py_func_stateless_op):
    _card.shape(_shape)
    _card.kernel(_kernel)


@export("py_func")
def py_func(
    func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """An operation that calls a Python function on numpy arrays in every step.

    Args:
      func: takes one array per input (scalars as numpy scalars, strings as bytes) and gives one
        value or a list or tuple of them.
      inp: a list of tensors.
      Tout: the type of the result, or a list of types.
      stateful: whether it may give different results for equal inputs.
      name: of the operation.

    Returns:
      A tensor of unknown shape, or a list of them if `Tout` is one.

    Raises:
      ValueError: if `func` is not callable.
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got func of type {type(func)}")
    several = isinstance(Tout, (list, tuple))
    token = f"pyfunc_{next(_numbers)}"
    holder = _Function(func)
    _functions[token.encode()] = holder
    graph: Any = get_default_graph()
    if not hasattr(graph, "_py_funcs_used_in_graph"):
        graph._py_funcs_used_in_graph = []
    graph._py_funcs_used_in_graph.append(holder)
    card = py_func_op if stateful else py_func_stateless_op
    result = card(inp, token=token, Tout=list(Tout) if several else [Tout], name=name)
    return result if several else result[0]


@export("numpy_function")
def numpy_function(func: Callable[..., Any], inp: Any, Tout: Any, name: str | None = None) -> Any:
    """See `py_func`, always stateful."""
    return py_func(func, inp, Tout, stateful=True, name=name)
