"""Complex numbers and their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.export import export
from stillflow.graph.lazy import LazyModule, torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.ops.constants import constant
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.kernels import torch_type
from stillflow.ops.math.broadcasting import broadcast_shape, summing_targets
from stillflow.ops.math.kernels import broadcasting_call, invalid
from stillflow.ops.samples import Sample, Samples

if TYPE_CHECKING:
    from stillflow.ops.arrays import fill as fills
    from stillflow.ops.math import division, unary
else:
    division = LazyModule("stillflow.ops.math.division")
    fills = LazyModule("stillflow.ops.arrays.fill")
    unary = LazyModule("stillflow.ops.math.unary")


def _same_shape(node: Node) -> tuple[int | None, ...] | None:
    return node.dims(0)


complex_op = op("""
    Complex(real: T, imag: T) -> out: Tout
    T: {float, double} = float
    Tout: {complex64, complex128} = complex64
""")
complex_op.shape(broadcast_shape)


def _complex(real: Any, imag: Any) -> torch.Tensor:
    if real.shape != imag.shape:
        real, imag = torch.broadcast_tensors(real, imag)
    return torch.complex(real, imag)


@complex_op.kernel
def complex_kernel(node: Node) -> Kernel:
    made = torch_type(node.Tout)
    if made.to_real() == torch_type(node.T):
        return broadcasting_call(node, _complex)
    # Where the types do not go together, TF reads half of the numbers.
    return lambda x, y: _complex(x, y).to(made)


@complex_op.gradient
def complex_gradient(node: Node, grad: Tensor) -> Gradients:
    to_real, to_imag = summing_targets(*node.inputs)
    return to_real.reduce(real(grad)), to_imag.reduce(imag(grad))


@complex_op.samples
def complex_samples() -> Samples:
    x = np.array([[1.5, -2.0], [0.5, 3.0]], np.float32)
    yield Sample(x, x + 1.0, grad=False)
    yield Sample(x, np.array([1.0, 2.0], np.float32), grad=False)


_PART = """(input: T) -> output: Tout
    T: {complex64, complex128} = complex64
    Tout: {float, double} = float
"""

real_op = op("Real" + _PART, view=True)
imag_op = op("Imag" + _PART, view=True)
angle_op = op("Angle" + _PART)
complex_abs_op = op("ComplexAbs" + _PART.replace("input", "x").replace("output", "y"))
conj_op = op("""
    Conj(input: T) -> output: T
    T: {complex64, complex128, variant} = complex64
""")

for _card in (real_op, imag_op, angle_op, complex_abs_op, conj_op):
    _card.shape(_same_shape)


def _part(node: Node, function: Callable[..., Any]) -> Any:
    """Return a kernel of real numbers out of complex ones.

    They are of the type that is asked for.
    """
    if node.Tout == node.T.real_dtype:
        return node.call(function, *node.inputs)
    kind = torch_type(node.Tout)
    return lambda x: function(x).to(kind)


@real_op.kernel
def real_kernel(node: Node) -> Kernel:
    return _part(node, torch.real)


@imag_op.kernel
def imag_kernel(node: Node) -> Kernel:
    return _part(node, torch.imag)


@angle_op.kernel
def angle_kernel(node: Node) -> Kernel:
    return _part(node, torch.angle)


@complex_abs_op.kernel
def complex_abs_kernel(node: Node) -> Kernel:
    if node.Tout != node.T.real_dtype:
        given, wanted, fitting = map(cpp_name, (node.T, node.Tout, node.T.real_dtype))
        raise invalid(f"Signature mismatch, have: {given}->{wanted} expected: {given}->{fitting}")
    return node.call(torch.abs, *node.inputs)


@conj_op.kernel
def conj_kernel(node: Node) -> Kernel:
    # The lazy conjugate would be a view that numpy cannot read.
    return node.call(torch.conj_physical, *node.inputs)


@real_op.gradient
def real_gradient(node: Node, grad: Tensor) -> Gradients:
    zero = constant(0, dtype=grad.dtype)
    return complex(grad, zero)


@imag_op.gradient
def imag_gradient(node: Node, grad: Tensor) -> Gradients:
    zero = constant(0, dtype=grad.dtype)
    return complex(zero, grad)


@angle_op.gradient
def angle_gradient(node: Node, grad: Tensor) -> Gradients:
    x = node.inputs[0]
    with control_dependencies([grad]):
        re, im = real(x), imag(x)
        z = unary.reciprocal(complex(im, re))
        zero = constant(0, dtype=grad.dtype)
        return -complex(grad, zero) * z


@complex_abs_op.gradient
def complex_abs_gradient(node: Node, grad: Tensor) -> Gradients:
    y = node.outputs[0]
    return division.div_no_nan(
        complex(grad, fills.zeros_like(grad)) * node.inputs[0], complex(y, fills.zeros_like(y))
    )


@conj_op.gradient
def conj_gradient(node: Node, grad: Tensor) -> Gradients:
    return conj(grad)


@real_op.samples
@imag_op.samples
@angle_op.samples
@complex_abs_op.samples
@conj_op.samples
def part_samples() -> Samples:
    yield Sample(np.array([[1 + 2j, -0.5 + 0.25j], [3 - 1j, -2 - 1j]], np.complex64), grad=False)


_COMPLEX = {dtypes.float64: dtypes.complex128, dtypes.float32: dtypes.complex64}


@export("dtypes.complex", "complex")
@dispatchable
def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """Complex numbers of their parts.

    Args:
      real, imag: tensors of one type, float32 (giving complex64) or float64 (complex128).
      name: of the operation.

    Raises:
      TypeError: for other types.
    """
    parts = convert_to_tensor(real, name="real"), convert_to_tensor(imag, name="imag")
    with name_scope(name, "Complex", list(parts)) as scope:
        kinds = [part.dtype for part in parts]
        for kind, result in _COMPLEX.items():
            if kinds == [kind, kind]:
                return complex_op(*parts, Tout=result, name=scope)
        raise TypeError(f"real and imag have incorrect types: {kinds[0].name} {kinds[1].name}")


@export("math.real", "real")
@dispatchable
def real(input: Any, name: str | None = None) -> Tensor:
    """Return the real part of `input`; `input` itself if it is real."""
    with name_scope(name, "Real", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        if not input.dtype.is_complex:
            return input
        return real_op(input, Tout=input.dtype.real_dtype.base_dtype, name=scope)


@export("math.imag", "imag")
@dispatchable
def imag(input: Any, name: str | None = None) -> Tensor:
    """Return the imaginary part of `input`; zeros if it is real."""
    with name_scope(name, "Imag", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        if not input.dtype.is_complex:
            return fills.zeros_like(input)
        return imag_op(input, Tout=input.dtype.real_dtype.base_dtype, name=scope)


@export("math.angle", "angle")
@dispatchable
def angle(input: Any, name: str | None = None) -> Tensor:
    """Return the argument of a complex number, between -pi and pi; zeros if `input` is real."""
    with name_scope(name, "Angle", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        if not input.dtype.is_complex:
            return fills.zeros_like(input)
        return angle_op(input, Tout=input.dtype.real_dtype.base_dtype, name=scope)


@export("math.conj", "conj")
@dispatchable
def conj(x: Any, name: str | None = None) -> Tensor:
    """Return the complex conjugate of `x`; `x` itself if it is real.

    Raises:
      TypeError: if `x` does not hold numbers.
    """
    if isinstance(x, Tensor) and (x.dtype.is_floating or x.dtype.is_integer):
        return x
    with name_scope(name, "Conj", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex or x.dtype == dtypes.variant:
            return conj_op(x, name=scope)
        if x.dtype.is_floating or x.dtype.is_integer:
            return x
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}")
