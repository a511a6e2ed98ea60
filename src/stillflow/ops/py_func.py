"""Python functions as operations: `tf.py_func`, and the operation of `tf.py_function`."""

from __future__ import annotations

import itertools
import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow import errors, nest
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.graph import get_default_graph
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Gradients
from stillflow.ops.kernels import copied
from stillflow.ops.printing import as_array

_SIGNATURE = """(input: [Tin]) -> output: [Tout]
    token: string
    Tin: list(type) >= 0
    Tout: list(type) >= 0
"""
py_func_op = op(
    f"PyFunc{_SIGNATURE}    flags: stateful",
    differentiable=False,
    effect="runs Python",
    devices="host",
)
# Called in every step, unless it always gets the same.
py_func_stateless_op = op(
    f"PyFuncStateless{_SIGNATURE}", differentiable=False, effect="runs Python", devices="host"
)
eager_py_func_op = op(
    """EagerPyFunc(input: [Tin]) -> output: [Tout]
    token: string
    is_async: bool = false
    Tin: list(type) >= 0
    Tout: list(type) >= 0
    flags: stateful
""",
    effect="runs Python",
    reads_on_host=True,
)

_CODES: tuple[tuple[tuple[type[BaseException], ...], type[errors.OpError]], ...] = (
    ((ValueError, TypeError), errors.InvalidArgumentError),
    ((StopIteration,), errors.OutOfRangeError),
    ((MemoryError,), errors.ResourceExhaustedError),
    ((NotImplementedError,), errors.UnimplementedError),
)
# Names in error messages of element types that arrays have and tensors do not.
_NPY_NAMES = {"M": "NPY_DATETIME", "m": "NPY_TIMEDELTA", "g": "NPY_LONGDOUBLE",
              "G": "NPY_CLONGDOUBLE"}  # fmt: skip


class Functions:
    """Python functions by the tokens that stand for them in graphs.

    They are objects with a method `run` of run-time values and types, which gives values and types.
    Only graphs keep them: a function is forgotten with the graph that calls it.
    """

    def __init__(self) -> None:
        self._holders: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()
        self._numbers = itertools.count()

    def add(self, holder: Any) -> str:
        """Return an object's token, valid as long as the object is referenced."""
        token = f"pyfunc_{next(self._numbers)}"
        self._holders[token.encode()] = holder
        return token

    def insert(self, holder: Any) -> str:
        """Add an object that lives as long as the graph, and give its token."""
        graph: Any = get_default_graph()
        while isinstance(graph, FuncGraph):
            graph = graph.outer_graph
        vars(graph).setdefault("_py_funcs_used_in_graph", []).append(holder)
        return self.add(holder)

    def find(self, token: bytes) -> Any:
        """Return the object of a token.

        Raises:
          tf.errors.InvalidArgumentError: if it no longer exists, or was another process's.
        """
        try:
            return self._holders[token]
        except KeyError:
            message = f"ValueError: callback {token.decode()} is not found"
            raise errors.invalid_argument(message) from None

    def size(self) -> int:
        """Return the number of functions."""
        return len(self._holders)


functions = Functions()


class _Function:
    """A function of numpy arrays."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def run(self, inputs: Sequence[Any], types: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Call it on run-time values of these types; gives the results and their types."""
        del types
        result = call_python(self._function, [_argument(value) for value in inputs])
        several = result if isinstance(result, (tuple, list)) else [result]
        arrays = [] if result is None else [_array(value) for value in several]
        found = [_type_of(array) for array in arrays]
        return [_owned(array) for array in arrays], found


def _owned(array: np.ndarray) -> torch.Tensor | Array:
    return array if array.dtype == object else torch.from_numpy(np.array(array, order="C"))


def _argument(value: Any) -> Array:
    array = as_array(value)
    return array[()] if array.ndim == 0 else array


def _array(value: Any) -> np.ndarray:
    try:
        array = np.asarray(value, order="C")
    except ValueError:  # rows of different lengths
        array = np.asarray(value, dtype=object)
    if array.dtype.kind in "SUO":
        return np.asarray(np.frompyfunc(_as_bytes, 1, 1)(array), dtype=object)
    return array


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return bytes(value)
    raise errors.internal(f"Unsupported object type {type(value).__name__}")


def _type_of(array: np.ndarray) -> DType:
    if array.dtype == object:
        return dtypes.string
    if array.dtype.char in _NPY_NAMES:
        name = _NPY_NAMES[array.dtype.char]
        raise errors.internal(f"Unsupported numpy type: {name}")
    try:
        return dtypes.as_dtype(array.dtype)
    except TypeError:
        raise errors.internal("Unsupported numpy data type") from None


def _check_results(token: bytes, found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Raise InvalidArgumentError where a function's results differ from the declared types."""
    name = token.decode()
    if len(found) != len(expected):
        raise errors.invalid_argument(
            f"{name} returns {len(found)} values, but expects to see {len(expected)} values."
        )
    for index, (dtype, wanted) in enumerate(zip(found, expected, strict=True)):
        if dtype != wanted:
            raise errors.invalid_argument(
                f"{index}-th value returned by {name} is {_cpp_name(dtype)}, "
                f"but expects {_cpp_name(wanted)}"
            )


def _cpp_name(dtype: Any) -> str:
    names = {"float32": "float", "float64": "double", "float16": "half"}
    return names.get(dtype.name, str(dtype.name))


def call_python(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Call a function; what it raises becomes an OpError with its traceback in the message."""
    try:
        return function(*args)
    except Exception as error:
        text = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
        known = (kind for types, kind in _CODES if isinstance(error, types))
        kind: Any = next(known, errors.UnknownError)
        raise kind(None, None, text) from error


def _shape(node: Node) -> list[None]:
    return [None] * len(node.outputs)


def _kernel(node: Node) -> Callable[..., Any]:
    token, wanted = node.token, list(node.Tout)
    types = [node.dtype(index) for index in range(len(node.inputs))]
    holder = functions.find(token)

    def run(*inputs: Any) -> Any:
        outputs, found = holder.run(inputs, types)
        _check_results(token, found, wanted)
        return outputs[0] if len(outputs) == 1 else outputs

    return run


def _stateless_kernel(node: Node) -> Callable[..., Any]:
    """Call the function once if all that it takes is known before the run."""
    run = _kernel(node)
    if any(node.value(index) is None for index in range(len(node.inputs))):
        return run
    made: list[Any] = []

    def copies(*inputs: Any) -> Any:
        if not made:
            made.append(run(*inputs))
        several = isinstance(made[0], list)
        results = list(map(copied, made[0] if several else made))
        return results if several else results[0]

    return copies


for _card in (py_func_op, py_func_stateless_op, eager_py_func_op):
    _card.shape(_shape)
    _card.kernel(_stateless_kernel if _card is py_func_stateless_op else _kernel)


@eager_py_func_op.gradient
def eager_py_func_gradient(node: Node, *grads: Any) -> Gradients:
    backward = functions.find(node.token).gradient([tensor.dtype for tensor in node.inputs])
    with control_dependencies([t if t.holds_value else t.op for t in node.outputs]):
        return backward.apply(grads)


def check_callable(func: Any) -> None:
    """Raise ValueError for an object that is not callable."""
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got func of type {type(func)}")


def _call_now(func: Callable[..., Any], inp: Any) -> Any:
    """Call a function on the values of tensors; gives its results as a tensor or some."""
    results = nest.flatten(func(*[tensor.numpy() for tensor in inp]))
    made = [result if result is None else convert_to_tensor(result) for result in results]
    return made[0] if len(made) == 1 else made


@export("py_func")
def py_func(
    func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Return an operation that calls a Python function on numpy arrays in every step.

    Args:
      func: takes one array per input (scalars as numpy scalars, strings as bytes) and gives one
        value or a list or tuple of them.
      inp: a list of tensors.
      Tout: the type of the result, or a list of types.
      stateful: whether it may give different results for equal inputs.
      name: of the operation.

    Returns:
      A tensor of unknown shape, or a list of them if `Tout` is one; the operation if it is
      stateful and has no results. In eager execution, the results of `func` as tensors.

    Raises:
      ValueError: if `func` is not callable.

    Example:
      >>> y = tf.py_func(lambda x: x[::-1].copy(), [tf.constant([1, 2, 3])], tf.int32)
      >>> print(tf.Session().run(y), y.shape)
      [3 2 1] <unknown>
    """
    if executing_eagerly():
        return _call_now(func, inp)
    check_callable(func)
    several = isinstance(Tout, (list, tuple))
    token = functions.insert(_Function(func))
    card = py_func_op if stateful else py_func_stateless_op
    result = card(inp, token=token, Tout=list(Tout) if several else [Tout], name=name)
    if not several:
        return result[0]
    return result if Tout or stateful else []


@export("numpy_function")
def numpy_function(func: Callable[..., Any], inp: Any, Tout: Any, name: str | None = None) -> Any:
    """See `py_func`, always stateful."""
    return py_func(func, inp, Tout, stateful=True, name=name)
