"""Conversions between element types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims, dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.constant_value import value_of
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType, cpp_name
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.kernels import torch_type
from stillflow.ops.samples import Bad, Sample, Samples

# Classes of variables that `cast` hands back as they are; the variables' module sets it.
resource_variable_types: tuple[Any, ...] = ()

cast_op = op(
    """
    Cast(x: SrcT) -> y: DstT
    SrcT: type
    DstT: type
    Truncate: bool = false
""",
    batching="vmap",
)


@cast_op.shape
def cast_shape(node: Node) -> OutputDims:
    return node.dims(0)


_known_cast = value_of(lambda x: x)


@cast_op.value
def cast_value(node: Node) -> Array | None:
    for dtype in (node.SrcT, node.DstT):
        if not (dtype.is_integer or dtype.is_bool or dtype.is_floating):
            return None
    if node.Truncate:
        return None
    if node.SrcT.is_floating and node.DstT.is_integer:
        value = node.value(0)
        if value is None:
            return None
        wide = value.astype(np.float64)
        if not np.all((wide >= node.DstT.min) & (wide <= node.DstT.max)):
            return None  # the kernel handles other values
    with np.errstate(all="ignore"):
        return _known_cast(node)


# Bits of the fraction, which `Truncate` cuts off instead of rounding.
_FRACTION = {
    dtypes.float64: 52,
    dtypes.float32: 23,
    dtypes.float16: 10,
    dtypes.bfloat16: 7,
    dtypes.complex128: 52,
    dtypes.complex64: 23,
}


def _cut_bits(source: DType, target: DType) -> int:
    """Return the number of bits of the fraction that `Truncate` drops; other conversions round."""
    if target == dtypes.bfloat16 and source != dtypes.float32:
        return 0
    return _FRACTION.get(source, 0) - _FRACTION.get(target, 99)


def _cut_fraction(x: Any, bits: int) -> torch.Tensor:
    """`x` with the lowest bits of every fraction set to zero."""
    parts = torch.view_as_real(x) if x.is_complex() else x
    words = parts.view(torch.int64 if parts.dtype == torch.float64 else torch.int32)
    cut = (words & -(1 << bits)).view(parts.dtype)
    return torch.view_as_complex(cut) if x.is_complex() else cut


@cast_op.kernel
def cast_kernel(node: Node) -> Kernel:
    source, target = node.SrcT, node.DstT
    if source == target:
        return node.same(0)
    if source.torch_name is None or target.torch_name is None:
        raise errors.unimplemented(
            f"Cast {cpp_name(source)} to {cpp_name(target)} is not supported"
        )
    dtype = torch_type(target)
    cut = _cut_bits(source, target) if node.Truncate else 0
    if target == dtypes.uint32 and source.is_floating:
        # By way of a wider type, so that too large values wrap around as in TF.
        return lambda x: x.to(torch.int64).to(dtype)
    if cut <= 0 and not source.is_complex:
        return node.call(torch.Tensor.to, node.inputs[0], dtype)
    drops_imaginary = source.is_complex and not target.is_complex

    def convert(x: Any) -> torch.Tensor:
        x = _cut_fraction(x, cut) if cut > 0 else x
        return (x.real if drops_imaginary else x).to(dtype, copy=True)

    return convert


_DIFFERENTIABLE = (
    dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.complex64,
    dtypes.complex128,
)  # fmt: skip


@cast_op.gradient
def cast_gradient(node: Node, grad: Any) -> Gradients:
    source = node.dtype(0)
    if source in _DIFFERENTIABLE and grad.dtype.base_dtype in _DIFFERENTIABLE:
        return cast(grad, source)
    return None


@cast_op.samples
def cast_samples() -> Samples:
    x = np.array([[1.5, -2.5], [0.25, 7.0]], np.float32)
    yield Sample(x, DstT=dtypes.float64)
    yield Sample(x, DstT=dtypes.int32)
    yield Sample(np.array([True, False]), DstT=dtypes.float32)


# ---- the same bits, read as another type

_BITS = (
    "{bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, "
    "complex64, complex128, qint8, quint8, qint16, quint16, qint32}"
)

bitcast_op = op(f"Bitcast(input: T) -> output: type; T: {_BITS}; type: {_BITS}", view=True)


@bitcast_op.shape
def bitcast_shape(node: Node) -> OutputDims:
    shape, before, after = node.dims(0), node.T.size, node.type.size
    if shape is None or before == after:
        return shape
    if before > after:
        return (*shape, before // after)
    ratio = after // before
    if node.planning and (not shape or shape[-1] not in (None, ratio)):
        raise ValueError(
            f"Cannot bitcast from {node.T.name} to {node.type.name}: input's last dimension "
            f"must be {ratio}: shape is {dims.to_string(shape)}"
        )
    dims.with_rank_at_least(shape, 1)
    if shape[-1] is not None and shape[-1] != ratio:
        raise ValueError(f"Cannot bitcast due to shape. {shape[-1]} does not match {ratio}")
    return shape[:-1]


@bitcast_op.kernel
def bitcast_kernel(node: Node) -> Kernel:
    dtype = torch_type(node.type)
    before, after = node.T.size, node.type.size
    if before == after:
        return lambda x: x.contiguous().view(dtype)
    if before > after:
        return lambda x: x.unsqueeze(-1).contiguous().view(dtype)

    def widen(x: Any) -> Any:
        # Memory of narrow types need not be aligned for the wide one.
        return x.clone(memory_format=torch.contiguous_format).view(dtype).squeeze(-1)

    return widen


@bitcast_op.samples
def bitcast_samples() -> Samples:
    x = np.array([[1, 2], [3, 4]], np.int32)
    yield Sample(x, type=dtypes.float32)
    yield Sample(x, type=dtypes.uint8)
    yield Sample(x, type=dtypes.int64)
    yield Bad(np.zeros([3], np.int32), match="bitcast", type=dtypes.int64)


@export("bitcast")
@dispatchable
def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """Return the bits of `input`, read as elements of another type.

    Args:
      input: a tensor.
      type: the type to read. A narrower type adds a last dimension, a wider one takes it away.
      name: of the operation.

    Raises:
      ValueError: if the last dimension does not hold one element of a wider type.
    """
    return bitcast_op(input, type=type, name=name)


# ---- public functions


@export("cast", "dtypes.cast")
@dispatchable
def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """`x` with its elements converted to `dtype`.

    Args:
      x: a tensor, `SparseTensor` or `IndexedSlices` of numbers or bools.
      dtype: the type wanted. Fractions are cut off; what does not fit an integer type wraps.
      name: of the operation.

    Returns:
      `x` itself if it is a tensor of that type already.

    Example:
      >>> print(tf.Session().run(tf.cast([1.8, -1.8], tf.int32)))
      [ 1 -1]
    """
    target = dtypes.as_dtype(dtype).base_dtype
    kinds: Any = (Tensor, *resource_variable_types)
    if isinstance(x, kinds) and x.dtype is target:
        return x
    with name_scope(name, "Cast", [x]) as scope:
        if isinstance(x, SparseTensor):
            values = cast(x.values, target, name=scope)
            return SparseTensor(x.indices, values, x.dense_shape)
        if isinstance(x, IndexedSlices):
            values = cast(x.values, target, name=scope)
            return IndexedSlices(values, x.indices, x.dense_shape)
        x = convert_to_tensor(x, name="x")
        if x.dtype.base_dtype != target:
            x = cast_op(x, DstT=target, name=scope)
        return x


def _to(dtype: DType, suffix: str, x: str = "", result: str = "") -> Callable[..., Any]:
    """Return an older spelling of a cast, with an argument and its result as an example."""

    def convert(x: Any, name: str = f"To{suffix}") -> Tensor:
        return cast(x, dtype, name=name)

    name = f"to_{suffix.lower()}"
    convert.__doc__ = (
        f"Convert `x` to {dtype.name}; the older spelling of `tf.cast`.\n\n"
        "Args:\n  x: a tensor, `SparseTensor` or `IndexedSlices` of numbers or bools.\n"
        "  name: of the operation.\n\n"
        f"Returns:\n  An object of that kind and shape, of type {dtype.name}."
    )
    if x:
        call = f"print(tf.Session().run(tf.{name}({x})))"
        convert.__doc__ += f"\n\nExample:\n  >>> {call}\n  {result}"
    convert.__name__ = convert.__qualname__ = name
    return convert


to_float = export("to_float")(_to(dtypes.float32, "Float", "[1, 2]", "[1. 2.]"))
to_double = export("to_double")(_to(dtypes.float64, "Double"))
to_int32 = export("to_int32")(_to(dtypes.int32, "Int32", "[1.8, -1.8]", "[ 1 -1]"))
to_int64 = export("to_int64")(_to(dtypes.int64, "Int64", "[1.8, -1.8]", "[ 1 -1]"))
to_bfloat16 = export("to_bfloat16")(_to(dtypes.bfloat16, "BFloat16"))
to_complex64 = export("to_complex64")(_to(dtypes.complex64, "Complex64"))
to_complex128 = export("to_complex128")(_to(dtypes.complex128, "Complex128"))
