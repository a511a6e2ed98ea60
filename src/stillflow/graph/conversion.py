"""Conversion of programs' values to tensors: numbers, arrays, lists, registered types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from stillflow._hooks import Hook
from stillflow.graph import dtypes
from stillflow.graph.card import Card
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.operation import Operation, Tensor

ConversionFunction = Callable[..., Any]
Conversion = tuple[int, Any, ConversionFunction]  # priority, types, function

const_card: Hook[Card] = Hook("graph.conversion.const_card")
# Conversions of lists that hold tensors, of shapes and of slices.
standard_conversions: Hook[Sequence[Conversion]] = Hook("graph.conversion.standard_conversions")
_registered: list[Conversion] = []
_for_type: dict[type, list[tuple[Any, ConversionFunction]]] = {}

_NUMBERS = frozenset((bool, int, float))
_PLAIN = (bool, int, float, str, bytes, complex, np.ndarray, np.generic)


@export("register_tensor_conversion_function")
def register_tensor_conversion_function(
    base_type: Any, conversion_func: ConversionFunction, priority: int = 100
) -> None:
    """Register how objects of `base_type` become tensors.

    Args:
      base_type: a type or a tuple of types.
      conversion_func: `f(value, dtype=None, name=None, as_ref=False)` gives a tensor or
        NotImplemented.
      priority: functions of lower priority are tried first.

    Raises:
      TypeError: if an argument is not what it should be.
    """
    bases = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(base, type) for base in bases):
        raise TypeError("base_type must be a type or a tuple of types.")
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    if any(issubclass(base, Tensor) for base in bases):
        raise TypeError("Cannot register conversions for Python numeric types and NumPy arrays.")
    _registered.append((priority, base_type, conversion_func))
    _for_type.clear()


def _functions_for(kind: type) -> list[tuple[Any, ConversionFunction]]:
    found = _for_type.get(kind)
    if found is None:
        known = (*standard_conversions.value, *_registered)
        found = [
            (base, function)
            for _, base, function in sorted(known, key=itemgetter(0))
            if issubclass(kind, base)
        ]
        _for_type[kind] = found
    return found


@export("convert_to_tensor")
def convert_to_tensor_public(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Tensor:
    """Convert `value` to a tensor.

    Args:
      value: a tensor, variable, number, string, array, (nested) list of these, or an object whose
        type was registered with `register_tensor_conversion_function`.
      dtype: the type wanted; by default it follows from `value`.
      name: of the op made, if one is made.
      preferred_dtype, dtype_hint: a type to try first; ignored if `value` does not fit it.

    Raises:
      TypeError, ValueError: if `value` cannot be converted.

    Example:
      >>> tf.convert_to_tensor([1, 2], dtype=tf.float32)
      <tf.Tensor 'Const:0' shape=(2,) dtype=float32>
    """
    hint = dtype_hint if dtype_hint is not None else preferred_dtype
    return convert_to_tensor(value, dtype=dtype, name=name, preferred_dtype=hint)


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    as_ref: bool = False,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
    accepted_result_types: Any = None,
    ctx: Any = None,
) -> Tensor:
    """See `convert_to_tensor_public`; with `as_ref`, a variable gives its reference."""
    del ctx
    if dtype is not None and type(dtype) is not DType:
        dtype = dtypes.as_dtype(dtype)
    kind = type(value)
    if kind is Tensor or isinstance(value, Tensor):
        if dtype is not None and not dtype.is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        if value.holds_value:
            return _taken_in(value, name)
        return value
    preferred = dtype_hint if dtype_hint is not None else preferred_dtype
    if preferred is not None:
        preferred = dtypes.as_dtype(preferred)
    if isinstance(value, _PLAIN):
        return _plain(value, dtype, preferred, name)
    for base, function in _functions_for(kind):
        result = NotImplemented
        if dtype is None and preferred is not None:
            try:
                result = function(value, dtype=preferred, name=name, as_ref=as_ref)
            except (TypeError, ValueError):
                result = NotImplemented
            if result is not NotImplemented and result.dtype.base_dtype != preferred.base_dtype:
                raise TypeError(
                    f"convert_to_tensor did not convert to the preferred dtype: {result.dtype} "
                    f"vs {preferred}"
                )
        if result is NotImplemented:
            result = function(value, dtype=dtype, name=name, as_ref=as_ref)
        if result is NotImplemented:
            continue
        if not isinstance(result, accepted_result_types or Tensor):
            raise RuntimeError(
                f"{_prefix(name)}Conversion function {function!r} for type {base} returned "
                f"non-Tensor: {result!r}"
            )
        _check_result(result, dtype, base, function, name)
        return result
    raise TypeError(
        f"{_prefix(name)}Cannot convert {value!r} with type {kind} to Tensor: no conversion "
        "function registered."
    )


def _taken_in(value: Tensor, name: str | None) -> Tensor:
    """Return a stand-in for an eager tensor where operations are added to functions."""
    graph = get_default_graph()
    if graph.runs_at_once:
        return value
    if not graph.building_function:
        raise RuntimeError("Attempting to capture an EagerTensor without building a function.")
    taken: Tensor = graph.capture(value, name)  # type: ignore[attr-defined]
    return taken


def _prefix(name: str | None) -> str:
    return f"{name}: " if name else ""


def _check_result(result: Any, dtype: Any, base: Any, function: Any, name: str | None) -> None:
    if dtype is not None and not dtype.is_compatible_with(result.dtype):
        raise RuntimeError(
            f"{_prefix(name)}Conversion function {function!r} for type {base} returned "
            f"incompatible dtype: requested = {dtype.base_dtype.name}, actual = "
            f"{result.dtype.base_dtype.name}"
        )


def _plain(value: Any, dtype: Any, preferred: Any, name: str | None) -> Tensor:
    if dtype is None and preferred is not None:
        try:
            return constant_op(value, preferred, None, name or "Const")
        except (TypeError, ValueError):
            pass  # the preference does not fit; the value decides
    return constant_op(value, dtype, None, name or "Const")


def constant_op(
    value: Any,
    dtype: Any,
    shape: Any,
    name: str,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Tensor:
    """Add a Const node to the default graph; the arguments are those of `as_array`."""
    from stillflow.graph.arrays import as_array

    graph = get_default_graph()
    if graph.runs_at_once:
        return _eager_constant(graph, value, dtype, shape, verify_shape)
    if type(value).__name__ == "TensorProto":  # says all there is to say
        return constant_from_array(graph, value, value.dtype, name)
    array = as_array(value, dtype, shape, verify_shape, allow_broadcast)
    return constant_from_array(graph, array, dtype, name)


def _eager_constant(graph: Any, value: Any, dtype: Any, shape: Any, verify_shape: bool) -> Tensor:
    """Return a tensor of a value that nobody else changes, in eager execution."""
    from stillflow.graph.eager_arrays import as_eager_array, fill_to_shape

    wanted = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if shape is None and type(value) in _NUMBERS:
        return graph.number(value, wanted)
    if type(value).__name__ == "TensorProto":
        return graph.constant(value, value.dtype)
    if isinstance(value, Tensor) and value.holds_value:
        if wanted not in (None, value.dtype):
            raise TypeError(f"Expected tensor with type {wanted!r} not {value.dtype!r}")
        if shape is None:
            return value
        value = value.numpy()  # type: ignore[attr-defined]
    array = as_eager_array(value, wanted)
    if shape is not None:
        array = fill_to_shape(array, shape, verify_shape)
    return constant_from_array(graph, array, wanted, "")


def constant_from_array(graph: Graph, array: Any, dtype: Any, name: str) -> Tensor:
    """Add a Const node holding `array` (or a message), which must not be changed afterwards."""
    if dtype is None:
        dtype = dtypes.string if array.dtype == object else dtypes.as_dtype(array.dtype)
    dtype = dtypes.as_dtype(dtype).base_dtype
    if graph.runs_at_once:
        return graph.constant(array, dtype)  # type: ignore[attr-defined]
    if isinstance(name, bytes):
        name = name.decode()
    full = name[:-1] if name.endswith("/") else graph.unique_name(name)
    op = graph.add_op(const_card.value, [], {"value": array, "dtype": dtype}, [dtype], full)
    return op._outputs[0]


def constant_conversion(
    value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    """Convert anything that numpy understands."""
    del as_ref
    return constant_op(value, dtype, None, name or "Const")


def convert_n_to_tensor(
    values: Sequence[Any],
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    as_ref: bool = False,
) -> list[Tensor]:
    """Convert each of `values`; the name of number i is `name_i`."""
    return [
        convert_to_tensor(
            value,
            dtype=dtype,
            name=None if name is None else f"{name}_{i}",
            as_ref=as_ref,
            preferred_dtype=preferred_dtype,
        )
        for i, value in enumerate(values)
    ]


def _operation_conversion(
    value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    raise TypeError(
        f"Can't convert Operation '{value.name}' to Tensor "
        f"(target dtype={dtype!r}, name={name!r}, as_ref={as_ref!r})"
    )


register_tensor_conversion_function(Operation, _operation_conversion)
register_tensor_conversion_function((list, tuple, object), constant_conversion, 200)
