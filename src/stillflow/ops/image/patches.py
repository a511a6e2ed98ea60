"""Patches of images and volumes, laid out in the depth: ExtractImagePatches and its relative."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.arrays import native_kernels
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones
from stillflow.ops.arrays.gather import reshape_quietly
from stillflow.ops.arrays.indexing import slice_helper
from stillflow.ops.arrays.pad import torch_order
from stillflow.ops.arrays.sequences import range as range_of
from stillflow.ops.arrays.shape import expand_dims, reshape, shape
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.sparse.dense import sparse_tensor_dense_matmul
from stillflow.ops.sparse.rearranging import sparse_slice
from stillflow.util.renamed import renamed_argument

_REAL = "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"
extract_image_patches_op = op(
    f"""
    ExtractImagePatches(images: T) -> patches: T
    ksizes: list(int) >= 4
    strides: list(int) >= 4
    rates: list(int) >= 4
    T: {_REAL}
    padding: {{"SAME", "VALID"}}
""",
    gpu_types="fractions",
)
extract_volume_patches_op = op(
    f"""
    ExtractVolumePatches(input: T) -> patches: T
    ksizes: list(int) >= 5
    strides: list(int) >= 5
    T: {_REAL}
    padding: {{"SAME", "VALID"}}
""",
    gpu_types="fractions",
)


def _rates(node: Node) -> list[int]:
    return node.op.attrs.get("rates") or [1] * len(node.ksizes)


def _windows(size: int, window: int, stride: int, padding: bytes) -> tuple[int, int]:
    """Return the number of windows that fit, and the padding that they need."""
    if stride <= 0:
        raise ValueError(f"Stride must be > 0, but got {stride}")
    if padding == b"VALID":
        count = (size - window + stride) // stride
        if count < 0:
            raise ValueError(
                f"Computed output size would be negative: {count} [input_size: {size}, "
                f"effective_filter_size: {window}, stride: {stride}]"
            )
        return count, 0
    count = -(-size // stride)
    return count, max(0, (count - 1) * stride + window - size)


def _check_running(node: Node, spatial: int) -> None:
    """Raise an error for attributes and ranks with the message of TF's kernels."""
    for name in ("ksizes", "strides", "rates"):
        given = node.op.attrs.get(name) or [1] * (spatial + 2)
        if given[0] != 1 or given[-1] != 1:
            raise errors.unimplemented(f"Only support {name} across space.")
        if min(given) < 1:
            raise errors.out_of_range(f"{name} is out of range.")
    checked_rank(node, 0, spatial + 2, f"input must be {spatial + 2}-dimensional")


def patches_shape(node: Node) -> tuple[int | None, ...]:
    spatial = 2 if node.op.type == "ExtractImagePatches" else 3
    if node.planning:
        _check_running(node, spatial)
    dims = dims_lib.with_rank(node.dims(0), spatial + 2)
    rates = _rates(node)
    for name, given in (("ksizes", node.ksizes), ("stride", node.strides), ("rates", rates)):
        if len(given) != spatial + 2:
            raise ValueError(
                f"{node.op.type} requires the {name} attribute to contain {spatial + 2} values, "
                f"but got: {len(given)}"
            )
    depth = dims_lib.multiply(dims[-1], prod(node.ksizes[1:-1]))
    if None in dims[1:-1]:  # of volumes, too, TF's graphs then say that there are four dimensions
        return (dims[0], *[None] * (spatial if node.planning else 2), depth)
    inner: list[int] = []
    for axis in range(spatial):
        window = (node.ksizes[axis + 1] - 1) * rates[axis + 1] + 1
        size: Any = dims[axis + 1]
        inner.append(_windows(size, window, node.strides[axis + 1], node.padding)[0])
    return (dims[0], *inner, depth)


def extract(
    x: Any, sizes: Sequence[int], strides: Sequence[int], rates: Sequence[int], padding: bytes
) -> torch.Tensor:
    """Return the patches of `[batch, spatial..., depth]`.

    Each argument has one entry a spatial axis.
    """
    counts, pairs, along = [], [[0, 0]], []
    for axis, (size, stride, rate) in enumerate(zip(sizes, strides, rates, strict=True)):
        count, extra = _windows(x.shape[axis + 1], (size - 1) * rate + 1, stride, padding)
        counts.append(count)
        pairs.append([extra // 2, extra - extra // 2])
        along.append((x.shape[axis + 1], count, size, stride, rate, extra // 2))
    if (found := native_kernels.extract(x, along)) is not None:
        return found
    if any(sum(pair) for pair in pairs):
        x = torch.constant_pad_nd(x, torch_order([*pairs, [0, 0]]), 0)
    parts = []
    for offsets in itertools.product(*[range(size) for size in sizes]):
        index: list[Any] = [slice(None)]
        for offset, rate, stride, count in zip(offsets, rates, strides, counts, strict=True):
            start = offset * rate
            index.append(slice(start, start + max(0, (count - 1) * stride + 1), stride))
        parts.append(x[tuple(index)])
    return torch.cat(parts, -1)


def patches_kernel(node: Node) -> Call:
    inner = [list(given)[1:-1] for given in (node.ksizes, node.strides, _rates(node))]
    return node.call(extract, node.inputs[0], *inner, node.padding)


for _card in (extract_image_patches_op, extract_volume_patches_op):
    _card.shape(patches_shape)
    _card.kernel(patches_kernel)

# ---- Gradients

# TF finds out which element of the input each element of a patch is by extracting patches of the
# elements' numbers, and multiplies by the sparse matrix that follows.


def _product(factors: Sequence[Any]) -> Any:
    """Return the product of numbers and scalar tensors, multiplied in order."""
    product = factors[0]
    for factor in factors[1:]:
        product = product * factor
    return product


def _pairs(seen: Tensor, out: Sequence[Any], ksizes: Sequence[int]) -> tuple[Tensor, Any]:
    """Return (number of the input element from 1, or 0 for padding.

    Number of the output element).
    """
    total = _product([*out, *ksizes[1:-1]])
    targets = reshape(range_of(total, dtype=dtypes.int64), (1, *out, prod(ksizes[1:-1])))
    pairs = concat([expand_dims(seen, axis=-1), expand_dims(targets, axis=-1)], axis=-1)
    return reshape(pairs, (-1, 2)), total


def _jacobian_product(
    grad: Any, pairs: Tensor, totals: Any, out: Sequence[Any], ksizes: Sequence[int],
    dims: Sequence[Any],
) -> Tensor:  # fmt: skip
    """Return the gradient of the input, whose dimensions are `dims`."""
    batch, *extents, channels = dims
    whole = SparseTensor(pairs, ones([totals[1]], dtype=grad.dtype), totals)
    matrix = sparse_slice(whole, (1, 0), (totals[0] - 1, totals[1]))
    split = reshape_quietly(grad, (batch, *out, *ksizes[1:-1], channels))
    count = 2 * len(extents)
    order = (*range(1, count + 1), 0, count + 1)
    flat = reshape(transpose(split, order), (-1, batch * channels))
    product = reshape(sparse_tensor_dense_matmul(matrix, flat), (*extents, batch, channels))
    spatial = len(extents)
    return transpose(product, (spatial, *range(spatial), spatial + 1))


@extract_image_patches_op.gradient
def extract_image_patches_gradient(node: Node, grad: Any) -> Gradients:
    sizes = shape(node.inputs[0], out_type=dtypes.int64)
    batch, rows, columns, channels = [slice_helper(sizes, index) for index in range(4)]
    total: Any = 1 + rows * columns
    numbers = reshape(range_of(1, total, dtype=dtypes.int64), (1, rows, columns, 1))
    seen = extract_image_patches_op(
        numbers, ksizes=node.ksizes, strides=node.strides, rates=node.rates,
        padding=node.padding,
    )  # fmt: skip
    out_sizes = shape(node.outputs[0], out_type=dtypes.int64)
    out = [slice_helper(out_sizes, index) for index in (1, 2)]
    pairs, out_total = _pairs(seen, out, node.ksizes)
    dims = (batch, rows, columns, channels)
    return [_jacobian_product(grad, pairs, (total, out_total), out, node.ksizes, dims)]


@extract_volume_patches_op.gradient
def extract_volume_patches_gradient(node: Node, grad: Any) -> Gradients:
    source: tuple[Any, ...] = node.inputs[0]._dims or ()
    _, planes, rows, columns, _ = source  # a TypeError below where one is not known
    sizes = shape(node.inputs[0])
    batch, channels = slice_helper(sizes, 0), slice_helper(sizes, 4)
    total = 1 + planes * rows * columns
    numbers = reshape(range_of(1, total, dtype=dtypes.int64), (1, planes, rows, columns, 1))
    seen = extract_volume_patches_op(
        numbers, ksizes=node.ksizes, strides=node.strides, padding=node.padding
    )
    _, *out, _ = node.outputs[0]._dims or ()
    pairs, out_total = _pairs(seen, out, node.ksizes)
    dims = (batch, planes, rows, columns, channels)
    return [_jacobian_product(grad, pairs, (total, out_total), out, node.ksizes, dims)]


# ---- Samples and public functions


@extract_image_patches_op.samples
def extract_image_patches_samples() -> Samples:
    x = np.arange(40, dtype=np.float32).reshape(1, 5, 4, 2)
    one: dict[str, Any] = {"strides": [1, 2, 1, 1], "rates": [1, 1, 1, 1]}
    yield Sample(x, ksizes=[1, 3, 2, 1], padding="VALID", grad=False, **one)
    yield Sample(x, ksizes=[1, 2, 2, 1], padding="SAME", grad=False, strides=[1, 1, 1, 1],
                 rates=[1, 2, 1, 1])  # fmt: skip
    yield Bad(x[0], ksizes=[1, 3, 2, 1], padding="VALID", match="must be rank 4", **one)


@extract_volume_patches_op.samples
def extract_volume_patches_samples() -> Samples:
    x = np.arange(48, dtype=np.float32).reshape(1, 3, 4, 2, 2)
    yield Sample(x, ksizes=[1, 2, 2, 2, 1], strides=[1, 1, 2, 1, 1], padding="SAME", grad=False)


@export("image.extract_patches")
def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """Patches of images, put into the depth dimension.

    Args:
      images: `[batch, rows, columns, depth]`.
      sizes: `[1, rows, columns, 1]`, the size of the patches.
      strides: `[1, rows, columns, 1]`, how far patches are apart.
      rates: `[1, rows, columns, 1]`, how far a patch's elements are apart.
      padding: "VALID" (only patches inside the image) or "SAME".
      name: of the operation.

    Returns:
      `[batch, out rows, out columns, patch rows * patch columns * depth]`.
    """
    return extract_image_patches_op(
        images, ksizes=sizes, strides=strides, rates=rates, padding=padding, name=name
    )


@export("image.extract_image_patches", "extract_image_patches")
def extract_image_patches(
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    sizes: Any = None,
) -> Tensor:
    """Return the older form of `tf.image.extract_patches`.

    `ksizes` is the older name of `sizes`.
    """
    ksizes = renamed_argument("sizes", sizes, "ksizes", ksizes)
    return extract_image_patches_op(
        images, ksizes=ksizes, strides=strides, rates=rates, padding=padding, name=name
    )


@export("extract_volume_patches")
def extract_volume_patches(
    input: Any, ksizes: Any, strides: Any, padding: str, name: str | None = None
) -> Tensor:
    """Patches of volumes `[batch, planes, rows, columns, depth]`, put into the depth dimension.

    Args:
      input: the volumes.
      ksizes: `[1, planes, rows, columns, 1]`, the size of the patches.
      strides: `[1, planes, rows, columns, 1]`, how far patches are apart.
      padding: "VALID" or "SAME".
      name: of the operation.
    """
    return extract_volume_patches_op(
        input, ksizes=ksizes, strides=strides, padding=padding, name=name
    )
