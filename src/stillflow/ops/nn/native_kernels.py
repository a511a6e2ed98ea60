"""Native kernels of neural networks: filters, batch normalization, ReLU, dilation, pooling."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from stillflow import native
from stillflow.graph import dims
from stillflow.graph.lazy import aten, torch
from stillflow.ops import native_calls

if TYPE_CHECKING:
    from stillflow.ops.nn.pool_kernels import PoolGeometry

# ---- filters

# Filters brought from the graph's order into torch's and back, by the loop in C.
#
# Torch's kernels want the outputs of a filter first, the graph has them last. Torch's own copy,
# which reads or writes one number of every line of memory at a time, takes two to four times as
# long.

_FEW = 1 << 15  # numbers that torch copies as fast


def rotates(tensor: Any) -> bool:
    """Return True if the loop is there for a tensor and worth its call."""
    return tensor.numel() >= _FEW and native_calls.take(tensor)


def rotated(tensor: Any, first: int) -> torch.Tensor:
    """Return the tensor with the dimensions from `first` on before the others, contiguous."""
    outer, inner = tensor.shape[:first], tensor.shape[first:]
    result = tensor.new_empty((*inner, *outer))
    native_calls.call("transpose_matrix", tensor.data_ptr(), math.prod(outer), math.prod(inner),
               result.data_ptr())  # fmt: skip
    return result


# ---- batch normalization

# Batch normalization by native loops, together with frequent consumers.
#
# Torch's kernels read an image once more, add up in float32 all along, and leave the sum with a
# residual branch and the ReLU to passes of their own.


def batch_norm(
    x: Any, scale: Any, offset: Any, epsilon: float, other: Any, relu: bool
) -> tuple[Any, Any, Any, Any]:
    """Normalize float32, channels last, not empty, with the statistics of the batch.

    `other` is added, if there is one, before the ReLU. Returns the result, and the mean, the
    unbiased and the biased variance of each channel.
    """
    result = torch.empty_like(x)
    mean, variance, biased = (torch.empty_like(scale) for _ in range(3))
    channels = x.shape[-1]
    native_calls.call(
        "batch_norm_train", x.data_ptr(), x.numel() // channels, channels, scale.data_ptr(),
        offset.data_ptr(), epsilon, None if other is None else other.data_ptr(), relu,
        result.data_ptr(), mean.data_ptr(), variance.data_ptr(), biased.data_ptr(),
    )  # fmt: skip
    return result, mean, variance, biased


def batch_norm_gradient(
    grad: Any, relu: Any, x: Any, scale: Any, mean: Any, variance: Any, epsilon: float, result: Any
) -> tuple[Any, Any, Any]:
    """Return the gradients of `train` for image, scale and offset, with the biased variance.

    `grad` passes only where the result `relu` is above 0, if there is one; `result` may be `grad`.
    """
    dscale, doffset = torch.empty_like(scale), torch.empty_like(scale)
    channels = x.shape[-1]
    native_calls.call(
        "batch_norm_gradient", grad.data_ptr(), None if relu is None else relu.data_ptr(),
        x.data_ptr(), x.numel() // channels, channels, scale.data_ptr(), mean.data_ptr(),
        variance.data_ptr(), epsilon, result.data_ptr(), dscale.data_ptr(), doffset.data_ptr(),
    )  # fmt: skip
    return result, dscale, doffset


# ---- ReLU and its gradients

# ReLU fused with its producer, and gradients of the ReLU family, in one pass over memory.
#
# As in TF, blocked gradients are multiplied by 0, so that one that is not finite becomes NaN and is
# noticed; NaN features pass nothing.


def relu_gradient(grad: Any, features: Any) -> torch.Tensor:
    """Return the gradient of a ReLU as that of a leaky one with slope 0: a multiplication."""
    return aten.leaky_relu_backward.default(grad, features, 0, False)


def relu6_gradient(grad: Any, features: Any) -> torch.Tensor:
    """Return the gradient of `min(relu(features), 6)`.

    On other devices than the CPU blocked gradients are 0 even where they are not finite: no kernel
    of torch multiplies there in one pass.
    """
    if not features.is_cpu:
        return aten.hardtanh_backward.default(grad, features, 0, 6)
    if not (grad.shape == features.shape and native_calls.take(grad, features)):
        return relu_gradient(grad, features * (6 - features))
    return _of_each("relu6_gradient", grad, features)


def elu_gradient(grad: Any, result: Any) -> torch.Tensor:
    """Return the gradient of an ELU, given its result; where that is no number it passes whole."""
    if not result.is_cpu:
        return aten.elu_backward.default(grad, 1, 1, 1, True, result)
    if not (grad.shape == result.shape and native_calls.take(grad, result)):
        return torch.fmin(result, result.new_zeros(())).add_(1).mul_(grad)
    return _of_each("elu_gradient", grad, result)


def add_relu(x: Any, bias: Any) -> torch.Tensor:
    """`relu(x + bias)`: a number is added to each of the last dimension."""
    if not native_calls.take_channels((x,), (bias,)):
        return torch.relu_(torch.add(x, bias))
    return _added(x, bias, torch.empty_like(x))


def add_relu_(x: Any, bias: Any) -> torch.Tensor:
    """`add_relu`, into the memory of `x`."""
    if native_calls.take_channels((x,), (bias,)):
        return _added(x, bias, x)
    return x.add_(bias).relu_()


def relu_gradients(grad: Any, result: Any) -> tuple[Any, Any]:
    """Return the gradients of `add_relu`, given its result, for `x` and for `bias`."""
    if not native_calls.take_channels((grad, result)):
        passed = relu_gradient(grad, result)
        return passed, passed.flatten(0, -2).sum(0)
    return _passed(grad, result, torch.empty_like(grad))


def relu_gradients_(grad: Any, result: Any) -> tuple[Any, Any]:
    """`relu_gradients`, the first of them in the memory of `grad`."""
    if not native_calls.take_channels((grad, result)):
        passed = aten.leaky_relu_backward.grad_input(grad, result, 0, False, grad_input=grad)
        return passed, passed.flatten(0, -2).sum(0)
    return _passed(grad, result, grad)


def gradient_of_sum(one: Any, other: Any, result: Any) -> torch.Tensor:
    """Return the gradient of a ReLU whose result goes two ways."""
    return _gradient_of_sum(one, other, result, None)


def gradient_of_sum_(one: Any, other: Any, result: Any) -> Any:
    """`gradient_of_sum`, in the memory of the first gradient."""
    return _gradient_of_sum(one, other, result, one)


def _gradient_of_sum(one: Any, other: Any, result: Any, out: Any) -> torch.Tensor:
    if not (one.shape == other.shape == result.shape and native_calls.take(one, other, result)):
        return relu_gradient(torch.add(one, other, out=out), result)
    out = torch.empty_like(one) if out is None else out
    native_calls.call("relu_gradient_of_sum", one.data_ptr(), other.data_ptr(), result.data_ptr(),
               one.numel(), out.data_ptr())  # fmt: skip
    return out


def _of_each(name: str, grad: Any, shown: Any) -> torch.Tensor:
    out = torch.empty_like(grad)
    native_calls.call(name, grad.data_ptr(), shown.data_ptr(), grad.numel(), out.data_ptr())
    return out


def _added(x: Any, bias: Any, out: Any) -> torch.Tensor:
    channels = bias.shape[0]
    native_calls.call("add_bias_relu", x.data_ptr(), x.numel() // channels, channels,
                      bias.data_ptr(), out.data_ptr())  # fmt: skip
    return out


def _passed(grad: Any, result: Any, out: Any) -> tuple[Any, Any]:
    channels = grad.shape[-1]
    dbias = grad.new_empty(channels)
    native_calls.call("bias_relu_gradient", grad.data_ptr(), result.data_ptr(),
                      grad.numel() // channels, channels, out.data_ptr(),
                      dbias.data_ptr())  # fmt: skip
    return out, dbias


# ---- grey-scale dilation

# Grey-scale dilation by the loop in C.


def dilation(
    images: Any, filter: Any, along: Sequence[Sequence[int]], notes: bool
) -> tuple[Any, Any] | None:
    """Return the largest sums of images and filter in every window; None without a loop.

    Images are float32 [batch, height, width, depth], the filter [rows, columns, depth]; `along` has
    the fields of `Along` for rows and for columns. Returns sums [batch, rows, columns, depth], and
    if `notes` the filter's element that gave each, int32.
    """
    if not native_calls.take(images, filter):
        return None
    library: Any = native.library()
    rows, columns = (native_calls.Along(*numbers) for numbers in along)
    shape = (images.shape[0], rows.count, columns.count, images.shape[3])
    result = torch.empty(shape)
    which = torch.empty(shape, dtype=torch.int32) if notes else None
    library.dilate(
        images.data_ptr(), images.shape[0], ctypes.byref(rows), ctypes.byref(columns),
        images.shape[3], filter.data_ptr(), result.data_ptr(),
        None if which is None else which.data_ptr(), torch.get_num_threads(),
    )  # fmt: skip
    return result, which


# ---- pooling

# Maxima of images by the loops in C, which keep the place of each in one byte.
#
# Torch's kernels write it in eight, and their gradient goes over the whole image once to clear it
# before it sends anything there.

_MOST = 256  # places of a window that a byte tells apart


def takes_max_pool(image: Any, geometry: PoolGeometry) -> bool:
    """Return True if there is a loop for an image and a window."""
    return (
        geometry.is_channels_last
        and image.ndim == 4
        and math.prod(geometry.window) <= _MOST
        and bool(image.numel())
        and 0 not in _windows(image.shape, geometry)[1]
        and native_calls.take(image)
    )


@lru_cache(1024)
def _windows(image: Sequence[int], geometry: PoolGeometry) -> tuple[Any, tuple[int, ...]]:
    """Return the native loop's windows on an image of this shape, and the maxima's shape."""
    batch, *sizes, channels = image
    counts = geometry.counts(sizes)
    before = [pad - drop for pad, drop in zip(geometry.padding, geometry.drop)]
    numbers = [*image, *counts, *geometry.window, *geometry.strides, *before]
    return native_calls.int64s(numbers), (batch, *counts, channels)


def max_pool(image: Any, geometry: PoolGeometry, with_places: bool) -> tuple[Any, Any]:
    """Return the maxima, and on request their places for `max_pool_gradient`."""
    windows, shape = _windows(image.shape, geometry)
    maxima = image.new_empty(shape)
    places = image.new_empty(shape, dtype=torch.uint8) if with_places else None
    native_calls.call("max_pool", windows, image.data_ptr(), maxima.data_ptr(),
               None if places is None else places.data_ptr())  # fmt: skip
    return maxima, places


def max_pool_gradient(image: Any, grad: Any, places: Any, geometry: PoolGeometry) -> torch.Tensor:
    """Send the gradients of an image's maxima to their places; ValueError for other shapes."""
    windows, shape = _windows(image.shape, geometry)
    if grad.shape != shape:
        raise ValueError(
            f"Expected grad shape to be {dims.to_string(shape)}, but got "
            f"{dims.to_string(tuple(grad.shape))}"
        )
    grad, result = grad.to(image).contiguous(), torch.empty_like(image)
    native_calls.call("max_pool_gradient", windows, grad.data_ptr(), places.data_ptr(),
               result.data_ptr())  # fmt: skip
    return result


# ---- pools over windows of any edges

_HOWS = ("largest", "average", "largest gradient", "average gradient", "second gradient")
_KINDS = ("float32", "float64", "int32", "int64")


def pool_windows(how: str, volumes: Any, edges: Sequence[Any], grad: Any, out: Any) -> bool:
    """Fill `out` with a pool of volumes [batch, depth, height, width, channels], or a gradient.

    Args:
      how: one of `_HOWS`.
      volumes: contiguous, as the other tensors.
      edges: along each axis the first places of the windows, and the last ones.
      grad: the gradient of pooled numbers, of a second gradient that of volumes; None for none.
      out: what is pooled; for a gradient of volumes zeros.

    Returns:
      False without a loop.
    """
    kind, given = str(out.dtype)[6:], [volumes, out] if grad is None else [volumes, out, grad]
    fits = kind in _KINDS and volumes.numel() < 1 << 31
    if not fits or not native_calls.reach(*given):
        return False
    batch, *sizes, channels = volumes.shape
    numbers = [batch, channels, *sizes, *(len(firsts) for firsts, _ in edges)]
    numbers += [place for axis in edges for places in axis for place in places]
    native_calls.call(
        "pool_windows", native_calls.int64s(numbers), _KINDS.index(kind), _HOWS.index(how),
        volumes.data_ptr(), None if grad is None else grad.data_ptr(), out.data_ptr(),
    )  # fmt: skip
    return True


def second_gradient(volumes: Any, grad: Any, geometry: PoolGeometry) -> torch.Tensor | None:
    """Return the numbers of `grad` at the maxima of volumes; None without a loop."""
    if volumes.ndim != 5 or not geometry.is_channels_last or grad.dtype is not volumes.dtype:
        return None
    batch, *sizes, channels = volumes.shape
    counts, edges = geometry.counts(sizes), []
    for axis, size in enumerate(sizes):
        before, step = geometry.padding[axis] - geometry.drop[axis], geometry.strides[axis]
        starts = [n * step - before for n in range(counts[axis])]
        ends = [min(start + geometry.window[axis], size) - 1 for start in starts]
        edges.append(([max(0, start) for start in starts], ends))
    out = volumes.new_empty((batch, *counts, channels))
    return out if pool_windows("second gradient", volumes, edges, grad, out) else None
