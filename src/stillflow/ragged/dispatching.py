"""Functions of dense tensors that take ragged ones, too.

Element-wise functions are mapped over the innermost values; for the others this package has a
function of the same meaning. These functions ask the registered ones here when they cannot take
their arguments; see `ops/dispatch.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow.graph.api import control_dependencies
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_like import is_dense_tensor_like
from stillflow.ops import bitwise
from stillflow.ops.arrays import (
    concat,
    dynamic_stitch,
    fill,
    gather,
    gather_nd,
    one_hot,
    select,
    shape,
    stack,
    tile,
)
from stillflow.ops.control_flow import identity_and_group
from stillflow.ops.debugging import numerics
from stillflow.ops.dispatch import NOT_SUPPORTED, Handler, register
from stillflow.ops.io.parsing import conversions
from stillflow.ops.math import (
    add_n,
    binary,
    cast,
    clip,
    comparison,
    complex,
    division,
    reductions,
    segment,
    special,
    trigonometry,
    unary,
)
from stillflow.ops.nn import activations
from stillflow.ops.strings import elementwise, joining, numbers, parts, regex, unicode
from stillflow.ragged import (
    gathering,
    operators,
    partitions,
    ranks,
    selecting,
    tiling,
)
from stillflow.ragged import (
    joining as ragged_joining,
)
from stillflow.ragged import reductions as ragged
from stillflow.ragged.broadcasting import broadcast_to
from stillflow.ragged.conversion import common_splits_dtype, is_ragged
from stillflow.ragged.dynamic_shape import RaggedTensorDynamicShape, broadcast_dynamic_shape
from stillflow.ragged.splits import assert_splits_match
from stillflow.ragged.tensor import RaggedTensor

Function = Callable[..., Any]

# Functions of one tensor, with the modules that have them.
_UNARY: dict[Any, str] = {
    activations: "log_sigmoid",
    bitwise: "invert",
    cast: "cast",
    clip: "clip_by_value saturate_cast",
    comparison: "is_finite is_inf is_nan logical_not",
    complex: "angle conj imag real",
    identity_and_group: "identity",
    conversions: "decode_compressed",
    elementwise: (
        "decode_base64 encode_base64 string_length string_strip string_to_hash_bucket "
        "string_to_hash_bucket_fast string_to_hash_bucket_strong"
    ),
    fill: "ones_like zeros_like",
    numbers: "as_string string_to_number",
    numerics: "check_numerics",
    parts: "substr",
    regex: "regex_full_match regex_replace",
    special: "digamma erf erfc lgamma",
    trigonometry: "acos acosh asin asinh atan atanh cos cosh sin sinh tan",
    unary: (
        "abs ceil exp expm1 floor log log1p negative reciprocal rint round rsqrt sign sqrt square"
    ),
    unicode: "unicode_script",
}
# Functions of a list of tensors.
_OF_LISTS: dict[Any, str] = {joining: "string_join", add_n: "add_n"}
# Functions of two tensors that broadcast them.
_BINARY: dict[Any, str] = {
    binary: "add maximum minimum multiply pow squared_difference subtract",
    bitwise: "bitwise_and bitwise_or bitwise_xor left_shift right_shift",
    comparison: (
        "equal greater greater_equal less less_equal logical_and logical_or logical_xor not_equal"
    ),
    complex: "complex",
    division: "div_no_nan divide floordiv floormod realdiv truediv truncatediv truncatemod",
    trigonometry: "atan2",
}


class _Stand(NamedTuple):
    """Ragged replacement `function` of one of dense tensors, of the same arguments by name.

    `ragged` names those that may be; in brackets lists. `renamed` are former names.
    """

    function: Function
    ragged: str
    renamed: dict[str, str] = {}


_REDUCED = {"reduction_indices": "axis", "keep_dims": "keepdims"}
_OTHERS: dict[Function, _Stand] = {
    gather.batch_gather: _Stand(gathering.batch_gather, "params indices"),
    gather.gather: _Stand(gathering.gather, "params indices"),
    gather_nd.gather_nd: _Stand(gathering.gather_nd, "params indices"),
    concat.concat: _Stand(ragged_joining.concat, "[values]"),
    joining.reduce_join: _Stand(ragged.reduce_join, "inputs", _REDUCED),
    one_hot.one_hot: _Stand(ranks.one_hot, "indices"),
    stack.stack: _Stand(ragged_joining.stack, "[values]"),
    select.where: _Stand(selecting.where, "condition x y"),
    shape.expand_dims: _Stand(ranks.expand_dims, "input", {"dim": "axis"}),
    shape.rank: _Stand(ranks.rank, "input"),
    shape.size: _Stand(ranks.size, "input"),
    shape.squeeze: _Stand(ranks.squeeze, "input", {"squeeze_dims": "axis"}),
    dynamic_stitch.dynamic_partition: _Stand(partitions.dynamic_partition, "data partitions"),
    tile.tile: _Stand(tiling.tile, "input"),
    **{
        getattr(reductions, f"reduce_{name}"): _Stand(
            getattr(ragged, f"reduce_{name}"), "input_tensor", _REDUCED
        )
        for name in ("all", "any", "max", "mean", "min", "prod", "sum")
    },
    **{
        getattr(segment, f"unsorted_segment_{name}"): _Stand(
            getattr(ragged, f"segment_{name}"), "data segment_ids"
        )
        for name in ("max", "mean", "min", "prod", "sqrt_n", "sum")
    },
}


def _taken(
    args: tuple[Any, ...], kwargs: dict[str, Any], names: list[str]
) -> tuple[list[Any], tuple[Any, ...], dict[str, Any]]:
    """Return the first arguments, given by position or by name, and the rest."""
    rest = dict(kwargs)
    count = len(names)
    first = [*args[:count], *(rest.pop(name, None) for name in names[len(args) :])]
    return first, args[count:], rest


def _names(function: Function) -> list[str]:
    return list(inspect.signature(function).parameters)


def _unary_handler(function: Function) -> Handler:
    names = _names(function)[:1]

    def handler(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        (x,), args, kwargs = _taken(args, kwargs, names)
        if x is None and "input" in kwargs:  # a later name of the first argument
            x = kwargs.pop("input")
        if not isinstance(x, RaggedTensor):
            return NOT_SUPPORTED
        return x.with_flat_values(function(x.flat_values, *args, **kwargs))

    return handler


def _list_handler(function: Function) -> Handler:
    names = _names(function)[:1]

    def handler(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        (items,), args, kwargs = _taken(args, kwargs, names)
        if items is None or isinstance(items, Tensor) or not _some_ragged(items):
            return NOT_SUPPORTED
        common_splits_dtype(*items)
        nested = [item.nested_row_splits for item in items if is_ragged(item)]
        flat = [item.flat_values if is_ragged(item) else item for item in items]
        with control_dependencies(assert_splits_match(nested)):
            values = function(flat, *args, **kwargs)
            return RaggedTensor.from_nested_row_splits(values, nested[0], validate=False)

    return handler


def _binary_handler(function: Function) -> Handler:
    names = _names(function)[:2]

    def handler(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        pair, args, kwargs = _taken(args, kwargs, names)
        if not any(map(is_ragged, pair)):
            return NOT_SUPPORTED
        try:
            for place, other in ((0, 1), (1, 0)):
                if not is_ragged(pair[place]):
                    pair[place] = convert_to_tensor(
                        pair[place], name=names[place], preferred_dtype=pair[other].dtype
                    )
        except (TypeError, ValueError):
            return NOT_SUPPORTED
        x, y = _broadcast(*pair)
        values = function(
            *(item.flat_values if is_ragged(item) else item for item in (x, y)), *args, **kwargs
        )
        return (x if is_ragged(x) else y).with_flat_values(values)

    return handler


def _broadcast(x: Any, y: Any) -> tuple[Any, Any]:
    """Two tensors, at least one of them ragged, with the same rows."""
    common_splits_dtype(x, y)
    both = is_ragged(x) and is_ragged(y)
    if not both:
        some, dense = (x, y) if is_ragged(x) else (y, x)
        if some.flat_values.shape.ndims > dense.shape.ndims:
            return x, y  # the dense one goes with every innermost value
    target = broadcast_dynamic_shape(
        RaggedTensorDynamicShape.from_tensor(x), RaggedTensorDynamicShape.from_tensor(y)
    )
    x = broadcast_to(x, target, broadcast_inner_dimensions=False)
    return x, broadcast_to(y, target, broadcast_inner_dimensions=False)


def _stand_in_handler(function: Function, stand: _Stand) -> Handler:
    signature = inspect.signature(function)

    def handler(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return NOT_SUPPORTED  # its own error says more
        values: list[Any] = []
        for name in stand.ragged.split():
            value = given.get(name.strip("[]"))
            if not name.startswith("["):
                values.append(value)
            elif isinstance(value, (list, tuple)):
                values += value
            else:
                return NOT_SUPPORTED
        if not _some_ragged(values):
            return NOT_SUPPORTED
        given = {stand.renamed.get(name, name): value for name, value in given.items()
                 if value is not None}  # fmt: skip
        return stand.function(**given)

    return handler


def _some_ragged(items: Sequence[Any]) -> bool:
    """Return True if some values are ragged and all others can be tensors."""
    if not any(map(is_ragged, items)):
        return False
    return all(is_ragged(item) or _is_convertible(item) for item in items)


def _is_convertible(value: Any) -> bool:
    if value is None or isinstance(value, (Tensor, np.ndarray, int, float, str)):
        return True
    if isinstance(value, SparseTensor):
        return False
    if is_dense_tensor_like(value):
        return True
    try:
        convert_to_tensor(value)
    except (TypeError, ValueError):
        return False
    return True


def _register_all() -> None:
    kinds = ((_UNARY, _unary_handler), (_OF_LISTS, _list_handler), (_BINARY, _binary_handler))
    for table, make in kinds:
        for module, names in table.items():
            for name in names.split():
                function = getattr(module, name)
                register(function, make(function))
    for function, stand in _OTHERS.items():
        register(function, _stand_in_handler(function, stand))


_register_all()
operators.attach()
