"""Changing rows and slices of variables in place: ScatterUpdate, ScatterNdUpdate and so on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.api import name_scope
from stillflow.graph.card import Card, op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones_like
from stillflow.ops.arrays.gather import in_range, out_of_range
from stillflow.ops.arrays.indexing import slice_helper
from stillflow.ops.arrays.rows import change_rows, first_outside
from stillflow.ops.arrays.scatter import check_nd_dims, scatter_into_variable
from stillflow.ops.arrays.sequences import range_op
from stillflow.ops.arrays.shape import expand_dims, reshape, shape
from stillflow.ops.debugging.handle_types import check_built_type

if TYPE_CHECKING:
    from stillflow.ops.variables.buffer import Buffer


_NUMBERS = (
    "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, uint16, complex128, half, uint32, uint64}"
)
_ORDERED = "{half, bfloat16, float, double, int32, int64}"
_TYPES = {"update": "type", "min": _ORDERED, "max": _ORDERED}

# ---- Shapes and checks


def _resource_rows_check(node: Node, target: Any) -> None:
    check_built_type(node)
    _rows_check(node, target)


def _rows_check(node: Node, target: Any) -> None:
    indices, updates = node.dims(1), node.dims(2)
    expected = dims_lib.concat(indices, dims_lib.subshape(target, 1))
    if updates is None or updates:
        dims_lib.merge(updates, expected)


def _nd_check(node: Node, target: Any) -> None:
    check_nd_dims(target, node.dims(1), node.dims(2), "input")


def _ref_shape(check: Callable[[Node, Any], None]) -> Callable[[Node], Any]:
    def shape(node: Node) -> Any:
        if not node.planning:  # the kernels have words of their own
            check(node, node.dims(0))
        return node.dims(0)

    return shape


def _resource_shape(check: Callable[[Node, Any], None]) -> Callable[[Node], Any]:
    def shape(node: Node) -> Any:
        if not node.planning:
            check(node, node.inputs[0]._handle_dims)
        return []

    return shape


# ---- Kernels


def scatter_rows(target: Any, indices: Any, updates: Any, how: str) -> None:
    """Change whole rows of a variable's value, those before an index that is out of range too.

    That is an InvalidArgumentError, as shapes that do not fit are a ValueError.
    """
    if target.ndim < 1:
        raise ValueError(f"params must be at least 1-D, got shape {shape_text(target.shape)}")
    expected = (*indices.shape, *target.shape[1:])
    if updates.ndim and tuple(updates.shape) != expected:
        raise ValueError(
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], "
            f"got updates.shape {shape_text(updates.shape)}, indices.shape "
            f"{shape_text(indices.shape)}, params.shape {shape_text(target.shape)}"
        )
    limit, width = target.shape[0], prod(target.shape[1:])
    rows = indices.reshape(-1)
    flat = updates.reshape(indices.numel(), width) if updates.ndim else updates
    table = target.reshape(limit, width)
    if not in_range(indices, limit):
        first = first_outside(rows[:, None], [limit])
        change_rows(table, rows[:first], flat[:first] if updates.ndim else flat, how)
        raise out_of_range(indices, limit)
    change_rows(table, rows, flat, how)


def _rows_of_resource(target: Any, indices: Any, updates: Any, how: str) -> None:
    count = prod(indices.shape)
    if updates.ndim and count and prod(updates.shape) % count:
        raise ValueError(
            f"shape of indices ({shape_text(indices.shape)}) is not compatible with the shape of "
            f"updates ({shape_text(updates.shape)})"
        )
    expected = (*indices.shape, *target.shape[1:])
    if updates.ndim and prod(updates.shape) == prod(expected):
        updates = updates.reshape(expected)  # axes of size 1 may stand anywhere
    scatter_rows(target, indices, updates, how)


def _as_array(updates: Any) -> Any:
    """Return updates with a shape; a single variant comes without one."""
    if hasattr(updates, "ndim"):
        return updates
    array = np.empty((), object)
    array[()] = updates
    return array


def _kernel(function: Callable[..., None], how: str, is_ref: bool) -> Callable[[Node], Any]:
    def kernel(node: Node) -> Callable[..., Any]:
        locked = not is_ref or node.use_locking

        def scatter(ref: Any, indices: Any, updates: Any) -> Buffer | None:
            with ref.lock if locked else contextlib.nullcontext():
                value = ref.read()
                if hasattr(value, "is_contiguous") and not value.is_contiguous():
                    value = ref.value = value.contiguous()
                function(value, indices, _as_array(updates), how)
            return ref if is_ref else None

        return scatter

    return kernel


# ---- Cards


def _ref_card(name: str, how: str, locking: bool) -> Card:
    kinds = _TYPES.get(how, _NUMBERS)
    card = op(
        f"Scatter{name}(ref: &T, indices: Tindices, updates: T) -> output_ref: &T\nT: {kinds}\n"
        f"Tindices: {{int32, int64}}\nuse_locking: bool = {str(locking).lower()}",
        writes=(0,),
        differentiable=name in ("Update", "Min", "Max"),  # though none of them has a gradient
        apple="no int64",
        numbers=("indices",),
        handle="variable",
    )
    is_nd = name.startswith("Nd")
    card.shape(_ref_shape(_nd_check if is_nd else _rows_check))
    card.kernel(_kernel(scatter_into_variable if is_nd else scatter_rows, how, True))
    return card


def _resource_card(name: str, how: str) -> Card:
    kinds = "type" if how == "update" else _NUMBERS
    card = op(
        f"ResourceScatter{name}(resource: resource, indices: Tindices, updates: dtype)\n"
        f"dtype: {kinds}\nTindices: {{int32, int64}}\nflags: stateful",
        writes=(0,),
        apple="no int64",
        numbers=("indices",),
        handle="variable",
    )
    card.shape(_resource_shape(_resource_rows_check))
    card.kernel(_kernel(_rows_of_resource, how, False))
    return card


def _resource_nd_card(name: str, how: str) -> Card:
    card = op(
        f"ResourceScatterNd{name}(ref: resource, indices: Tindices, updates: T)\nT: type\n"
        "Tindices: {int32, int64}\nuse_locking: bool = true\nflags: stateful",
        writes=(0,),
        apple="no int64",
        numbers=("indices",),
        handle="variable",
    )
    card.shape(_resource_shape(_nd_check))
    card.kernel(_kernel(scatter_into_variable, how, False))
    return card


_HOW = {
    "Update": "update", "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Min": "min",
    "Max": "max",
}  # fmt: skip
_ref_cards = {name: _ref_card(name, how, how == "update") for name, how in _HOW.items()}
_resource_cards = {name: _resource_card(name, how) for name, how in _HOW.items()}
_ref_nd_cards = {
    name: _ref_card(f"Nd{name}", _HOW[name], name == "Update") for name in ("Update", "Add", "Sub")
}
_resource_nd_cards = {
    name: _resource_nd_card(name, _HOW[name]) for name in ("Update", "Add", "Sub")
}

# ---- Public functions


def _scatter(
    ref_card: Card, resource_card: Card, ref: Any, indices: Any, updates: Any, locking: bool,
    name: str | None,
) -> Any:  # fmt: skip
    if ref.dtype._is_ref_dtype:
        return ref_card(ref, indices, updates, use_locking=locking, name=name)
    updates = convert_to_tensor(updates, ref.dtype)
    return ref._lazy_read(resource_card(ref.handle, indices, updates, name=name))


def _rows_function(name: str, what: str, locking: bool) -> Callable[..., Any]:
    def scatter(
        ref: Any, indices: Any, updates: Any, use_locking: bool = locking, name: str | None = None
    ) -> Any:
        return _scatter(ref_card, resource_card, ref, indices, updates, use_locking, name)

    ref_card, resource_card = _ref_cards[name], _resource_cards[name]
    scatter.__name__ = scatter.__qualname__ = f"scatter_{name.lower()}"
    scatter.__doc__ = f"""{what}

    Where an index occurs more than once, its updates are applied one after the other.

    Args:
      ref: a variable.
      indices: which slices along the first dimension, int32 or int64.
      updates: of shape `indices.shape + ref.shape[1:]`, or a scalar.
      use_locking: whether the update of a reference variable holds its lock.
      name: of the operation.

    Returns:
      The variable after the update.
    """
    return scatter


def _nd_function(name: str, what: str, locking: bool) -> Callable[..., Any]:
    def scatter(
        ref: Any, indices: Any, updates: Any, use_locking: bool = locking, name: str | None = None
    ) -> Any:
        return _scatter(ref_card, resource_card, ref, indices, updates, use_locking, name)

    ref_card, resource_card = _ref_nd_cards[name], _resource_nd_cards[name]
    scatter.__name__ = scatter.__qualname__ = f"scatter_nd_{name.lower()}"
    scatter.__doc__ = f"""{what}

    Args:
      ref: a variable.
      indices: tuples of indices in the last dimension, int32 or int64.
      updates: of shape `indices.shape[:-1] + ref.shape[indices.shape[-1]:]`.
      use_locking: whether the update of a reference variable holds its lock.
      name: of the operation.

    Returns:
      The variable after the update.
    """
    return scatter


scatter_update = _rows_function("Update", "Replaces slices of a variable.", True)
scatter_add = _rows_function("Add", "Adds to slices of a variable.", False)
scatter_sub = _rows_function("Sub", "Subtracts from slices of a variable.", False)
scatter_mul = _rows_function("Mul", "Multiplies slices of a variable.", False)
scatter_div = _rows_function("Div", "Divides slices of a variable.", False)
scatter_min = _rows_function(
    "Min", "Set slices of a variable to the minimum of old and new values.", False
)
scatter_max = _rows_function(
    "Max", "Set slices of a variable to the maximum of old and new values.", False
)
scatter_nd_update = _nd_function("Update", "Replaces elements or slices of a variable.", True)
scatter_nd_add = _nd_function("Add", "Adds to elements or slices of a variable.", False)
scatter_nd_sub = _nd_function("Sub", "Subtracts from elements or slices of a variable.", False)
export("scatter_update")(scatter_update)
export("scatter_add")(scatter_add)
export("scatter_sub")(scatter_sub)
export("scatter_mul")(scatter_mul)
export("scatter_div")(scatter_div)
export("scatter_min")(scatter_min)
export("scatter_max")(scatter_max)
export("scatter_nd_update")(scatter_nd_update)
export("scatter_nd_add")(scatter_nd_add)
export("scatter_nd_sub")(scatter_nd_sub)


@export("batch_scatter_update")
def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """`scatter_update` within each element of a batch.

    Args:
      ref: a variable.
      indices: int32 or int64, of known rank; the last dimension holds the indices.
      updates: of shape `indices.shape + ref.shape[indices rank:]`.
      use_locking: whether the update of a reference variable holds its lock.
      name: of the scope.

    Raises:
      ValueError: if the rank of `indices` is not known.
    """
    from stillflow.ops.math.cast import cast_op

    with name_scope(name):
        indices = convert_to_tensor(indices, name="indices")
        sizes = shape(indices)
        if indices._dims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        rank = len(indices._dims)
        tuples: Any = expand_dims(indices, axis=-1)
        parts = []
        for dimension in range(rank - 1):
            extent = slice_helper(sizes, dimension)
            spread: list[Any] = [1] * (rank + 1)
            spread[dimension] = extent
            numbers: Any = reshape(range_op(0, extent, 1), spread)
            if numbers.dtype.base_dtype != tuples.dtype:
                numbers = cast_op(numbers, DstT=tuples.dtype)
            parts.append(numbers * ones_like(tuples))
        parts.append(tuples)
        return scatter_nd_update(ref, concat(parts, axis=-1), updates, use_locking=use_locking)
