"""Checks of distributions' arguments, as the graph is built and as it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import dimension_value
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.transpose import matrix_transpose
from stillflow.ops.control_flow.identity_and_group import no_op, with_dependencies
from stillflow.ops.debugging.comparisons import (
    assert_equal,
    assert_greater_equal,
    assert_less_equal,
    assert_non_negative,
)
from stillflow.ops.debugging.ranks import assert_rank_at_least
from stillflow.ops.math.cast import cast

_INTEGERS_LIKE = {"float16": "int16", "float32": "int32", "float64": "int64"}
_UNSIGNED = ("bool", "uint8", "uint16")
_SIGNED = ("float16", "float32", "float64", "int8", "int16", "int32", "int64")


def assert_integer_form(
    x: Any,
    data: Any = None,
    summarize: Any = None,
    message: str | None = None,
    int_dtype: Any = None,
    name: str = "assert_integer_form",
) -> Operation | None:
    """Return an op that fails where an element has a fraction.

    TypeError for types that have no integers of their size.
    """
    with name_scope(name, values=[x, data]):
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_integer:
            return no_op()
        message = message or f"{x} has non-integer components"
        if int_dtype is None:
            if x.dtype.base_dtype.name not in _INTEGERS_LIKE:
                raise TypeError(f"Unrecognized type {x.dtype.name}")
            int_dtype = dtypes.as_dtype(_INTEGERS_LIKE[x.dtype.base_dtype.name])
        whole = cast(cast(x, int_dtype), x.dtype)
        return assert_equal(x, whole, data=data, summarize=summarize, message=message, name=name)


def assert_symmetric(matrix: Any) -> Tensor:
    """`matrix`; running fails if it is not symmetric."""
    transposed = matrix_transpose(matrix)
    return with_dependencies([assert_equal(matrix, transposed)], matrix)


def embed_check_nonnegative_integer_form(
    x: Any, name: str = "embed_check_nonnegative_integer_form"
) -> Tensor:
    """`x`; running fails where an element is negative or has a fraction."""
    with name_scope(name, values=[x]):
        count = convert_to_tensor(x, name="x")
        wanted = [(assert_non_negative, "must be non-negative.")]
        if not count.dtype.is_integer:
            wanted.append((assert_integer_form, "cannot contain fractional components."))
        checks = [check(count, message=f"'{count}' {problem}") for check, problem in wanted]
        return with_dependencies(checks, count)


def _known(dtype: Any) -> str:
    name: str = dtype.base_dtype.name
    if name not in _UNSIGNED and name not in _SIGNED:
        raise TypeError(f"Unrecognized dtype: {dtype.name}")
    return name


def largest_integer(dtype: Any) -> int:
    """Return the largest n such that integers up to n are of a real type, or raise TypeError."""
    if _known(dtype) == "bool":
        return 1
    if dtype.is_floating:
        return int(2 ** (np.finfo(dtype.as_numpy_dtype).nmant + 1))
    return np.iinfo(dtype.as_numpy_dtype).max


def smallest_integer(dtype: Any) -> int:
    """Return the smallest n such that integers down to n are of a real type, or raise TypeError."""
    return 0 if _known(dtype) in _UNSIGNED else -largest_integer(dtype)


def is_integer_like(dtype: Any) -> bool:
    """Return True if a type of real numbers is integer or boolean; TypeError for other types."""
    return _known(dtype) == "bool" or dtype.is_integer


def embed_check_categorical_event_shape(
    categorical_param: Any, name: str = "embed_check_categorical_event_shape"
) -> Tensor:
    """Return `categorical_param`, `[..., K]`; fail unless K classes can be counted.

    TypeError unless it is floating-point. ValueError if it is known to be a scalar or K to be too
    small or too large; else running fails.
    """
    with name_scope(name, values=[categorical_param]):
        x = convert_to_tensor(categorical_param, name="categorical_param")
        dtype = x.dtype.base_dtype
        most = largest_integer(dtype) if dtype.is_floating else 0
        if most == 0:
            raise TypeError(f"Unable to validate size of unrecognized dtype ({dtype.name}).")
        no_scalar = "A categorical-distribution parameter must have at least 1 dimension."
        at_least_two = "A categorical-distribution parameter must have at least 2 events."
        try:
            shape = x.shape.with_rank_at_least(1)
        except ValueError:
            raise ValueError(no_scalar) from None
        classes: Any = dimension_value(shape[-1])
        too_many = (
            "Number of classes exceeds `dtype` precision, i.e., {} implies shape{} cannot "
            "exceed {}."
        )
        if classes is not None:
            if classes < 2:
                raise ValueError(at_least_two)
            if classes > most:
                raise ValueError(too_many.format(dtype.name, f" ({classes})", most))
            return x
        classes = shape_of(x, name="x_shape")[-1]
        checks = [
            assert_rank_at_least(x, 1, message=no_scalar),
            assert_greater_equal(shape_of(x)[-1], 2, message=at_least_two),
            assert_less_equal(classes, most, message=too_many.format(dtype.name, "", most)),
        ]
        return with_dependencies(checks, x)


def embed_check_integer_casting_closed(
    x: Any,
    target_dtype: Any,
    assert_nonnegative: bool = True,
    name: str = "embed_check_casting_closed",
) -> Any:
    """Return `x`; running fails where an element is no integer of `target_dtype`.

    That type or the type of `x` must be an integer's; negative numbers may be allowed. TypeError
    for other types.
    """
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        _check_types(x, target_dtype)
        checks = []
        if assert_nonnegative:
            checks.append(assert_non_negative(x, message="Elements must be non-negative."))
        if x.dtype.is_floating:
            message = f"Elements must be {target_dtype.name}-equivalent."
            checks.append(assert_integer_form(x, int_dtype=target_dtype, message=message))
        else:
            most, least = largest_integer(target_dtype), smallest_integer(target_dtype)
            if largest_integer(x.dtype) > most:
                message = f"Elements cannot exceed {most}."
                checks.append(assert_less_equal(x, most, message=message))
            if not assert_nonnegative and smallest_integer(x.dtype) < least:
                message = f"Elements cannot be smaller than {least}."
                checks.append(assert_greater_equal(x, least, message=message))
        return with_dependencies(checks, x) if checks else x


def _check_types(x: Any, target: Any) -> None:
    integers = is_integer_like(x.dtype)
    if not integers and not x.dtype.is_floating:
        raise TypeError(f"{x.dtype.name}.dtype must be floating- or integer-type.")
    target_integers = is_integer_like(target)
    if not target_integers and not target.is_floating:
        raise TypeError(f"target_dtype ({target.name}) must be floating- or integer-type.")
    if not integers and not target_integers:
        raise TypeError(
            f"At least one of {x}.dtype ({x.dtype.name}) and target_dtype ({target.name}) must be "
            "integer-type."
        )


def maybe_get_static_value(x: Any, dtype: Any = None) -> Any:
    """Return the value of `x` if it is known, as an array of `dtype` if one is given, else None."""
    if x is None:
        return x
    try:
        known = static_value(x)
    except TypeError:
        known = x
    return known if known is None or dtype is None else np.array(known, dtype)
