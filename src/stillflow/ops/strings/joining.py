"""Concatenation and formatting of strings: StringJoin, ReduceJoin, StringFormat."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.summarize import summarize as summarized
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import rank
from stillflow.ops.constants import constant
from stillflow.ops.dispatch import NOT_SUPPORTED, dispatchable, register
from stillflow.ops.math.reduction_kernels import reduction_shape
from stillflow.ops.printing import as_array
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.strings.kernels import strings_of
from stillflow.util.renamed import renamed_argument
from stillflow.util.texts import FEW, Texts, joined_rows, texts_of

string_join_op = op(
    """
    StringJoin(inputs: N*string) -> output: string
    N: int >= 1
    separator: string = ""
""",
    differentiable=False,
)


@string_join_op.shape
def string_join_shape(node: Node) -> OutputDims:
    shapes = [node.dims(i) for i in range(len(node.inputs))]
    if all(dims == () for dims in shapes):
        return ()
    merged: Any = None
    for dims in filter(None, shapes):
        if node.planning and not dims_lib.is_compatible(merged, dims):
            first, other = dims_lib.to_string(merged), dims_lib.to_string(dims)
            raise ValueError(f"Input shapes do not match: {first} vs. {other}")
        merged = dims_lib.merge(merged, dims)
    return merged


def _joined_at_once(
    inputs: Sequence[np.ndarray], shape: tuple[int, ...], separator: bytes
) -> np.ndarray | None:
    """Strings joined elementwise by a loop in C, None where it is not there."""
    count = prod(shape)
    found = [texts_of(x) for x in inputs] if count > FEW else [None]
    texts = [each for each in found if each is not None]
    if len(texts) < len(found) or any(x.ndim and x.size != count for x in inputs):
        return None
    addresses = np.stack([np.broadcast_to(each.addresses, count) for each in texts], 1)
    sizes = np.stack([np.broadcast_to(each.sizes, count) for each in texts], 1)
    rows = Texts(addresses.reshape(-1), sizes.reshape(-1), texts)
    return joined_rows(rows, count, separator).reshape(shape)


@string_join_op.kernel
def string_join_kernel(node: Node) -> Kernel:
    separator = node.separator

    def join(*inputs: Any) -> Array:
        shape: tuple[int, ...] = next((x.shape for x in inputs if x.ndim), ())
        found = _joined_at_once(inputs, shape, separator)
        if found is not None:
            return found
        parts = [np.broadcast_to(x, shape).reshape(-1) for x in inputs]
        return strings_of([separator.join(items) for items in zip(*parts)], shape)

    return join


@string_join_op.samples
def string_join_samples() -> Samples:
    vector, scalar = np.array([b"a", b"b"], object), np.array(b"x", object)
    yield Sample([vector, scalar, vector], separator="-")
    yield Sample([scalar, scalar])
    yield Bad([vector, np.array([b"c"] * 3, object)], match="must be equal|do not match")


@export("string_join", "strings.join")
@dispatchable
def string_join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Tensor:
    """Strings of tensors of one shape (or scalars) joined elementwise by `separator`."""
    return string_join_op(inputs, separator=separator, name=name)


def _make_tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """TF tells ragged lists from others by making tensors of them, and these stay in the graph."""
    inputs = args[0] if args else kwargs["inputs"]
    for item in inputs if isinstance(inputs, (list, tuple)) else ():
        if isinstance(item, (list, tuple)):
            convert_to_tensor(item)
    return NOT_SUPPORTED


register(string_join, _make_tensors)


# ---- ReduceJoin

reduce_join_op = op(
    """
    ReduceJoin(inputs: string, reduction_indices: int32) -> output: string
    keep_dims: bool = false
    separator: string = ""
""",
    differentiable=False,
)


@reduce_join_op.shape
def reduce_join_shape(node: Node) -> OutputDims:
    try:
        return reduction_shape(node)
    except ValueError:
        if node.planning:
            return None  # the kernel has words of its own
        raise


def _checked_axes(axes: list[int], rank: int) -> list[int]:
    seen: set[int] = set()
    for axis in axes:
        if not -rank <= axis < rank:
            raise errors.out_of_range(
                f"Invalid reduction dimension {axis} for input with {rank} dimension(s)"
            )
        if axis % rank in seen:
            raise ValueError(f"Duplicate reduction dimension {axis}")
        seen.add(axis % rank)
    return [axis % rank for axis in axes]


@reduce_join_op.kernel
def reduce_join_kernel(node: Node) -> Kernel:
    keep, separator = node.keep_dims, node.separator

    def reduce_join(x: Any, axes: Any) -> Array:
        reduced = _checked_axes(axes.reshape(-1).tolist(), x.ndim)
        left = [axis for axis in range(x.ndim) if axis not in reduced]
        outer = tuple(x.shape[axis] for axis in left)
        count = int(np.prod([x.shape[axis] for axis in reduced], dtype=np.int64))
        # The axis given first varies fastest.
        rows = x.transpose(left + reduced[::-1]).reshape(int(np.prod(outer, dtype=np.int64)), count)
        shape = outer
        if keep:
            shape = tuple(1 if i in reduced else size for i, size in enumerate(x.shape))
        texts = texts_of(rows) if rows.size > FEW else None
        if texts is not None:
            return joined_rows(texts, len(rows), separator).reshape(shape)
        return strings_of([separator.join(row) for row in rows], shape)

    return reduce_join


@reduce_join_op.samples
def reduce_join_samples() -> Samples:
    letters = np.array([[b"a", b"b", b"c"], [b"d", b"e", b"f"]], object)
    yield Sample(letters, np.array([1, 0], np.int32), fixed=(1,))
    yield Sample(letters, np.int32(-2), separator="-", keep_dims=True, fixed=(1,))
    yield Sample(letters, np.zeros(0, np.int32), fixed=(1,))
    yield Bad(letters, np.array([0, 0], np.int32), match="[Dd]uplicate")


def _all_axes(x: Tensor) -> Tensor:
    """All axes, the last first, so that strings are joined in row-major order from the right."""
    if x.shape.ndims is not None:
        return constant(np.arange(x.shape.ndims - 1, -1, -1), dtype=dtypes.int32)
    return range_(rank(x) - 1, -1, -1)


@export("reduce_join", "strings.reduce_join")
@dispatchable
def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Join the strings along axes of a tensor.

    Args:
      inputs: strings of any shape.
      axis: the axes to join along, in the order of joining; all by default.
      keep_dims: deprecated name of `keepdims`.
      separator: text between joined strings.
      reduction_indices: deprecated name of `axis`.
      keepdims: whether joined axes stay with size 1.
    """
    keepdims = renamed_argument("keepdims", keepdims, "keep_dims", keep_dims)
    axis = renamed_argument("axis", axis, "reduction_indices", reduction_indices)
    with name_scope(None, "ReduceJoin", [inputs, axis]):
        strings = convert_to_tensor(inputs)
        axes = _all_axes(strings) if axis is None else axis
        return reduce_join_op(
            strings,
            axes,
            keep_dims=False if keepdims is None else keepdims,
            separator=separator,
            name=name,
        )


# ---- StringFormat

string_format_op = op("""
    StringFormat(inputs: [T]) -> output: string
    T: list(type) >= 0
    template: string = "%s"
    placeholder: string = "%s"
    summarize: int = 3
""")


@string_format_op.shape
def string_format_shape(node: Node) -> OutputDims:
    count = node.template.count(node.placeholder)
    if count != len(node.inputs):
        raise ValueError(
            "num placeholders in template and num inputs must match: "
            f"{count} vs. {len(node.inputs)}"
        )
    return ()


@string_format_op.kernel
def string_format_kernel(node: Node) -> Kernel:
    first, *rest = node.template.split(node.placeholder)
    limit = node.summarize

    def fill_in(*values: Any) -> Array:
        shown = [summarized(as_array(value), limit, v2=True).encode() for value in values]
        pieces = [piece for pair in zip(shown, rest) for piece in pair]
        return strings_of([b"".join([first, *pieces])], ())

    return fill_in


@string_format_op.samples
def string_format_samples() -> Samples:
    yield Sample([np.arange(8, dtype=np.int32)], template="x: {}!", placeholder="{}")
    yield Bad([np.int32(1)], template="none", match="num placeholders")


@export("strings.format")
def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """Return a scalar string: `template` with tensors, shortened, in the places of `placeholder`.

    Args:
      template: the text.
      inputs: a tensor or a list of as many tensors as there are placeholders.
      placeholder: what is replaced.
      summarize: how many elements at either end of each dimension are shown; -1 for all.

    Raises:
      ValueError: if placeholders and tensors differ in number.
    """
    if is_tensor(inputs):
        inputs = [inputs]
    count = template.count(placeholder)
    if count != len(inputs):
        raise ValueError(
            f"{count} placeholder(s) in template does not match {len(inputs)} tensor(s) "
            "provided as input"
        )
    return string_format_op(
        inputs, template=template, placeholder=placeholder, summarize=summarize, name=name
    )
