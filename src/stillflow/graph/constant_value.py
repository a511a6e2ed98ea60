"""Values that are known while the graph is built.

Static shapes depend on them: `tf.reshape(x, [tf.shape(x)[0], -1])` has a known rank because the
shape argument is partly known. A card's value part computes an op's outputs from its inputs' known
values as soon as the op is created; `partial_shape` reads an integer vector element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from stillflow.graph.node import Node
    from stillflow.graph.operation import Tensor

Dims = tuple[int | None, ...] | None

# Larger results are not worth keeping: shape arithmetic is small.
MAX_ELEMENTS = 4096


def constant_value(tensor: Tensor) -> np.ndarray | None:
    """Return the value of `tensor` if constants and static shapes determine it, else None."""
    if tensor.holds_value:
        found: np.ndarray | None = tensor._array()  # type: ignore[attr-defined]
        return found
    values = tensor.op._values
    return None if values is None else values[tensor.value_index]


def value_of(function: Callable[..., Any]) -> Callable[[Node], np.ndarray | None]:
    """Return a value part that applies a numpy function to all inputs' values, once known."""

    def value(node: Node) -> np.ndarray | None:
        arrays = []
        for index in range(len(node.inputs)):
            array = node.value(index)
            if array is None or array.size > MAX_ELEMENTS:
                return None
            arrays.append(array)
        with np.errstate(all="ignore"):
            try:
                result = np.asarray(function(*arrays))
            except (TypeError, ValueError, ArithmeticError, IndexError):
                return None  # the op itself reports the error when it runs
        return result.astype(node.outputs[0].dtype.as_numpy_dtype, copy=False)

    return value


def as_dims(vector: np.ndarray | None) -> Dims:
    """Return an integer vector as dims (negative: unknown); a scalar -1 is an unknown shape."""
    if vector is None or vector.ndim == 0:
        return None
    return tuple(None if size < 0 else int(size) for size in vector.tolist())


_CONCATENATIONS = ("Concat", "ConcatV2")


class Known:
    """Known values for `partial_shape`: here, the static values of the graph."""

    fed: Collection[Tensor] = ()
    # True if arguments of functions count as their outside values.
    looks_outside = False

    @staticmethod
    def value(tensor: Tensor) -> np.ndarray | None:
        return constant_value(tensor)

    @staticmethod
    def dims(tensor: Tensor) -> Dims:
        return tensor._dims


class KnownOutside(Known):
    """The same, outside of functions too."""

    looks_outside = True


def _outside(tensor: Tensor) -> Tensor:
    """Return the tensor outside of the functions that captured it."""
    while not tensor.holds_value and getattr(tensor.graph, "is_legacy", True) is False:
        source: Tensor = tensor.graph.source_of(tensor)  # type: ignore[attr-defined]
        if source is tensor:
            break
        tensor = source
    return tensor


def partial_shape(tensor: Tensor, known: Any = Known) -> Dims:
    """Read an integer vector as a shape, None for every element that is not known.

    `tensor` may also be a scalar -1, for an unknown shape. `known` has `value(tensor)`,
    `dims(tensor)` and `fed`, tensors whose operations tell nothing of them; by default the static
    facts.
    """
    if getattr(known, "looks_outside", False):
        tensor = _outside(tensor)
    length = known.dims(tensor)
    if length is not None and len(length) > 1:
        raise ValueError(f"Shape must be rank 1 but is rank {len(length)}")
    if tensor.holds_value:
        return as_dims(constant_value(tensor))
    source = tensor.op
    kind = "" if tensor in known.fed else source.type
    # Parts are read as far as the graph knows them, even where they could be computed: as TF does.
    if kind == "Shape":
        return known.dims(source._inputs[0])
    if kind == "ShapeN":
        return known.dims(source._inputs[tensor.value_index])
    if kind == "Pack":
        return tuple(_scalar_dim(known.value(item)) for item in source._inputs)
    if kind in _CONCATENATIONS:
        joined = _concatenated(source, known)
        if joined is not None:
            return joined
    if kind == "StridedSlice":
        sliced = _sliced(source, known)
        if sliced is not None:
            return sliced
    value = known.value(tensor)
    if value is not None:
        return as_dims(value)
    if length is None or len(length) != 1 or length[0] is None:
        return None
    return (None,) * length[0]


def _concatenated(source: Any, known: Any) -> Dims:
    parts = source._inputs[1:] if source.type == "Concat" else source._inputs[:-1]
    total: tuple[int | None, ...] = ()
    for part in parts:
        dims = _part(part, known)
        if dims is None:
            return None
        total += dims
    return total


def _part(tensor: Tensor, known: Any) -> Dims:
    """Return `partial_shape` of a slice; for a slice that is not plain, TF infers nothing."""
    if not tensor.holds_value and tensor not in known.fed:
        if tensor.op.type in _CONCATENATIONS:
            return _concatenated(tensor.op, known)
        if tensor.op.type == "StridedSlice":
            return _sliced(tensor.op, known)
    return partial_shape(tensor, known)


def _scalar_dim(value: np.ndarray | None) -> int | None:
    if value is None or value.ndim != 0 or value < 0:
        return None
    return int(value)


def _sliced(source: Any, known: Any) -> Dims:
    """`vector[begin:end:stride]` of a partly known vector; None where the slice is not plain."""
    attrs = source.attrs
    if attrs["ellipsis_mask"] or attrs["new_axis_mask"] or attrs["shrink_axis_mask"]:
        return None
    bounds = [known.value(item) for item in source._inputs[1:]]
    if any(bound is None or bound.size != 1 for bound in bounds):
        return None
    begin, end, stride = (int(bound[0]) for bound in bounds)
    if stride == 0:
        return None
    dims = partial_shape(source._inputs[0], known)
    if dims is None:
        return None
    start = None if attrs["begin_mask"] & 1 else begin
    stop = None if attrs["end_mask"] & 1 else end
    return dims[start:stop:stride]
