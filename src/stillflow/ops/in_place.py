"""Kernels that may write their result over their first argument."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from stillflow.ops.math import element_loops
from stillflow.ops.nn import batch_norm, native_kernels

aten = torch.ops.aten

# Functions that may write their first result into their first argument (slopes: the gradient), with
# the methods or functions that do; and whether the first two arguments may change places.
IN_PLACE: dict[Any, tuple[Any, bool]] = {
    torch.add: ("add_", True), torch.mul: ("mul_", True), torch.sub: ("sub_", False),
    torch.div: ("div_", False), torch.relu: ("relu_", False), torch.neg: ("neg_", False),
    torch.exp: ("exp_", False), torch.rsqrt: ("rsqrt_", False),
    element_loops.square_roots: (element_loops.square_roots_, False),
    element_loops.tangents: (element_loops.tangents_, False), torch.sigmoid: ("sigmoid_", False),
    torch.square: ("square_", False), torch.clamp: ("clamp_", False), torch.abs: ("abs_", False),
    torch.log: ("log_", False), torch.reciprocal: ("reciprocal_", False),
    torch.pow: ("pow_", False),
    aten.leaky_relu_backward.default: ("leaky_relu_backward", False),
    aten.tanh_backward.default: ("tanh_backward", False),
    aten.sigmoid_backward.default: ("sigmoid_backward", False),
    batch_norm.backward: (batch_norm.backward_, False),
    native_kernels.add_relu: (native_kernels.add_relu_, False),
    native_kernels.relu_gradients: (native_kernels.relu_gradients_, False),
    native_kernels.gradient_of_sum: (native_kernels.gradient_of_sum_, False),
}  # fmt: skip

# Functions that cut a tensor into parts without common memory, and functions with dense results, so
# that this holds for their parts.
CUTS = frozenset({torch.tensor_split})
DENSE = frozenset({torch.mm, torch.addmm, torch.bmm, torch.conv2d, *IN_PLACE})


def _in_place(method: Any) -> Callable[..., Any]:
    if callable(method):
        return method
    if not method.endswith("_backward"):
        return getattr(torch.Tensor, method)
    into = getattr(aten, method).grad_input
    return lambda grad, *others: into(grad, *others, grad_input=grad)


@cache
def writer(function: Any, method: Any, is_part: bool) -> Callable[..., Any]:
    """Return the function that writes in place, where its first argument is memory without gaps.

    The parts of a dense tensor are such, without a look at them.
    """
    in_place = _in_place(method)
    if is_part:
        return in_place

    def write(first: Any, *others: Any) -> Any:
        # A result of a kernel may be an expanded view of its own memory.
        if first.is_contiguous():
            return in_place(first, *others)
        return function(first, *others)

    return write
