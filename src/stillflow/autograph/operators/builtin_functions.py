"""Python's own functions, which take tensors too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.autograph.operators.python_calls import call_python
from stillflow.autograph.operators.tensors import is_tensor_array, is_tensor_list
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.arrays.sequences import range as tf_range
from stillflow.ops.arrays.shape import rank, shape
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.unary import abs as tf_abs
from stillflow.ops.strings.joining import string_join
from stillflow.ops.strings.numbers import as_string, string_to_number
from stillflow.ops.tensor_list.cards import cards as list_cards

UNSPECIFIED: Any = object()


def abs_(x: Any) -> Tensor | int:
    """`abs(x)`."""
    return tf_abs(x) if is_tensor(x) else abs(x)


def float_(x: Any = 0) -> Tensor | float:
    """`float(x)`, of a tensor a float32."""
    return _number(x, dtypes.float32) if is_tensor(x) else float(x)


def int_(x: Any = 0, base: Any = UNSPECIFIED) -> Tensor | int:
    """`int(x)`, of a tensor an int32; its base must be 10."""
    if not is_tensor(x):
        return int(x) if base is UNSPECIFIED else int(x, base)
    if base not in (10, UNSPECIFIED):
        raise NotImplementedError(f"base {base} not supported for int")
    return _number(x, dtypes.int32)


def _number(x: Any, dtype: Any) -> Tensor:
    if x.dtype == dtypes.string:
        return string_to_number(x, out_type=dtype)
    return cast(x, dtype)


def len_(s: Any) -> Any:
    """`len(s)`: of a tensor its first dimension, a number where it is known."""
    if is_tensor_array(s):
        return s.size()
    if is_tensor_list(s):
        return list_cards["TensorListLength"](s)
    return _length(s) if is_tensor(s) else len(s)


def _length(tensor: Any) -> Any:
    dims = tensor.shape.dims
    if dims and dims[0].value is not None:
        return dims[0].value
    dynamic = shape(tensor)
    count = dynamic.shape.dims[0].value
    if count == 0:
        raise ValueError(f"len requires a non-scalar tensor, got one of shape {dynamic}")
    if count is not None:
        return shape(tensor)[0]
    dimensions = rank(tensor)

    def refuse() -> Tensor:
        text = string_join(["len requires non-zero rank, got ", as_string(dimensions)])
        with control_dependencies([Assert(False, [text])]):
            return constant(0, dtype=dtypes.int32)

    return cond(dimensions > 0, lambda: shape(tensor)[0], refuse)


def print_(*objects: Any, **kwargs: Any) -> Tensor | None:
    """`print(*objects)`; with tensors an operation that prints, which gives 1."""
    unknown = tuple(set(kwargs) - {"sep", "end", "file", "flush"})
    if unknown:
        raise ValueError(f"invalid keyword arguments: {unknown}")
    if not any(is_tensor(item) for item in objects):
        print(*objects, **kwargs)
        return None
    given = {key: value for key, value in kwargs.items() if value is not UNSPECIFIED}

    def print_values(*values: Any) -> None:
        print(*(_printable(value) for value in values), **{"flush": True, **given})

    return call_python(print_values, None, objects, use_dummy_return=True)


def _printable(value: Any) -> Any:
    value = value.numpy() if is_tensor(value) else value
    return value.decode() if isinstance(value, bytes) else value


def range_(start_or_stop: Any, stop: Any = UNSPECIFIED, step: Any = UNSPECIFIED) -> Any:
    """`range(stop)`, `range(start, stop)` or `range(start, stop, step)`."""
    given = [value for value in (start_or_stop, stop, step) if value is not UNSPECIFIED]
    if not any(is_tensor(value) for value in given):
        return range(*given)
    if len(given) < 3:  # an empty range is none that `tf.range` knows
        given[-1] = maximum(*given) if len(given) == 2 else maximum(given[0], 0)
    return tf_range(*given)


def enumerate_(s: Any, start: Any = 0) -> Any:
    """Call `enumerate(s, start)`; for a dataset, return a dataset."""
    return s.enumerate(start) if _is_dataset(s) else enumerate(s, start)


def zip_(*iterables: Any, strict: bool = False) -> Any:
    """`zip(*iterables)`, of datasets a dataset."""
    if all(_is_dataset(s) for s in iterables):
        from stillflow.data.dataset import DatasetV2

        return DatasetV2.zip(tuple(iterables))
    return zip(*iterables, strict=strict)


def _is_dataset(s: Any) -> bool:
    from stillflow.data.dataset import DatasetV2

    return isinstance(s, DatasetV2)


OVERLOADS: dict[Any, Callable[..., Any]] = {
    abs: abs_, float: float_, int: int_, len: len_, print: print_, range: range_,
    enumerate: enumerate_, zip: zip_,
}  # fmt: skip


def overload_of(f: Any) -> Any:
    """Return the overload of a Python function; `f` itself if there is none."""
    return OVERLOADS.get(f, f)
