"""Pools in torch, with TensorFlow's paddings, for two and three dimensions.

TF's SAME may pad one more element after than before. Torch's `ceil_mode` pads just that way; only
where the stride is 1 it cannot, and there the larger padding is used on both sides and the first
output dropped. Padding never wins a maximum and never counts in an average, as in TF.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from stillflow.graph.lazy import F, aten, torch
from stillflow.ops.nn import native_kernels
from stillflow.ops.nn.windows import channels_first, channels_last, pads, spatial


class PoolGeometry(NamedTuple):
    """Geometry of a pool's window on images of one size."""

    window: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[int, ...]  # before and after
    ceil: bool
    drop: tuple[int, ...]  # outputs to leave out at the start of each dimension
    is_channels_last: bool
    empty: bool  # no window fits, or there is nothing below it

    def counts(self, sizes: Sequence[int]) -> list[int]:
        """Return the number of window positions along dimensions of these sizes."""
        return [
            -(-size // step) if self.ceil else max(0, (size - window) // step + 1)
            for size, window, step in zip(sizes, self.window, self.strides)
        ]

    def empty_output(self, image: Any) -> torch.Tensor:
        """Return the output if there is nothing to pool: torch rejects such images."""
        return image.new_zeros((*image.shape[:2], *self.counts(image.shape[2:])))


@lru_cache(1024)
def pool_geometry(
    image: tuple[int, ...],
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: bytes,
    data_format: bytes,
) -> PoolGeometry:
    """Return the geometry of a pool over an image of this shape.

    All in the order of `data_format`.
    """
    sizes, window = spatial(image, data_format), spatial(ksize, data_format)
    steps = spatial(strides, data_format)
    pairs = pads(sizes, window, steps, padding)
    drop = tuple(int(step == 1 and before != after) for step, (before, after) in zip(steps, pairs))
    before = tuple(pair[1] if dropped else pair[0] for pair, dropped in zip(pairs, drop))
    first = data_format.startswith(b"NC")
    too_small = padding == b"VALID" and any(size < edge for size, edge in zip(sizes, window))
    empty = too_small or 0 in image
    return PoolGeometry(window, steps, before, padding == b"SAME", drop, not first, empty)


@cache
def _arguments(geometry: PoolGeometry) -> tuple[list[int], list[int], list[int]]:
    return list(geometry.window), list(geometry.strides), list(geometry.padding)


def image_in(image: Any, geometry: PoolGeometry) -> torch.Tensor:
    """Return the image as torch sees it: NCHW, in memory as it was."""
    return image.permute(channels_first(image.ndim)) if geometry.is_channels_last else image


def image_out(image: Any, geometry: PoolGeometry) -> torch.Tensor:
    """Return the graph's tensor of a torch image."""
    if geometry.is_channels_last:
        image = image.permute(channels_last(image.ndim))
    return image.contiguous()


def _dropped(image: Any, drop: Sequence[int]) -> torch.Tensor:
    for axis, count in enumerate(drop, 2):
        if count:
            image = image.narrow(axis, count, image.shape[axis] - count)
    return image


def _with_dropped(grad: Any, drop: Sequence[int]) -> torch.Tensor:
    """Return an output gradient with zeros for the outputs that were dropped."""
    if not any(drop):
        return grad
    widths = [width for count in reversed(drop) for width in (count, 0)]
    return F.pad(grad, widths)


def _empty_image(
    like: Any, shape: Sequence[int], geometry: PoolGeometry, is_plain: bool
) -> torch.Tensor:
    """Return memory never read, for kernels that want the shape of an input like `like`.

    `shape` is the graph's; channels come first in memory if `is_plain`.
    """
    if not geometry.is_channels_last:
        return like.new_empty(tuple(shape))
    sizes = [shape[axis] for axis in channels_first(len(shape))]
    if is_plain:
        return like.new_empty(sizes)
    layout = torch.channels_last if len(sizes) == 4 else torch.channels_last_3d
    return torch.empty(sizes, dtype=like.dtype, device=like.device, memory_format=layout)


# ---- maxima


def _pooled(image: Any, geometry: PoolGeometry) -> tuple[Any, Any]:
    """Torch's maxima of a torch image, and where in its plane each stands; nothing dropped yet."""
    function = (
        aten.max_pool2d_with_indices if image.ndim == 4 else aten.max_pool3d_with_indices
    ).default
    window, strides, padding = _arguments(geometry)
    ones = [1] * len(window)
    return function(image, window, strides, padding, ones, geometry.ceil)


def _has_nan(best: Any) -> bool:
    return best.is_floating_point() and best.is_cpu and bool(best.isnan().any())


def maximum_and_index(image: Any, geometry: PoolGeometry) -> tuple[Any, Any]:
    """Maxima of a torch image, and where in its plane each stands; nothing dropped yet.

    A NaN, which for torch is greater than all, is one for TF only where it comes first.
    """
    best, index = _pooled(image, geometry)
    if not _has_nan(best):
        return best, index
    best, index = _pooled(_without_nan(image), geometry)
    first = _pooled(torch.zeros_like(image[:1, :1]), geometry)[1].expand(index.shape)
    leading = image.flatten(2).gather(2, first.flatten(2)).view(first.shape)
    is_nan = leading.isnan()
    return torch.where(is_nan, leading, best), torch.where(is_nan, first, index)


def _without_nan(image: Any) -> torch.Tensor:
    return torch.where(image.isnan(), -torch.inf, image)


def _maximum_of_numbers(image: Any, geometry: PoolGeometry) -> tuple[Any, Any]:
    """Return the maximum of TF's pools: NaN is left out, and the least is finite."""
    best, index = maximum_and_index(image, geometry)
    if best.is_floating_point() and best.is_cpu:
        if _has_nan(best):
            best = _pooled(_without_nan(image), geometry)[0]
        best = best.clamp_(min=torch.finfo(best.dtype).min)
    return best, index


def max_pool(image: Any, geometry: PoolGeometry) -> torch.Tensor:
    """Run MaxPool or MaxPool3D."""
    return max_pool_with_places(image, geometry, False)[0]


def max_pool_with_places(
    image: Any, geometry: PoolGeometry, wanted: bool = True
) -> tuple[Any, Any]:
    """Return a pool, and on request the places of the maxima for its gradient."""
    if geometry.empty:
        return image_out(geometry.empty_output(image_in(image, geometry)), geometry), None
    if native_kernels.takes_max_pool(image, geometry):
        return native_kernels.max_pool(image, geometry, wanted)
    best, places = _maximum_of_numbers(image_in(image, geometry), geometry)
    return image_out(_dropped(best, geometry.drop), geometry), places


def max_pool_grad(image: Any, grad: Any, geometry: PoolGeometry) -> torch.Tensor:
    """Send every output's gradient to the first maximum in its window."""
    _, places = max_pool_with_places(image, geometry)
    return max_pool_grad_at(image, grad, places, geometry)


def max_pool_grad_of_all(image: Any, best: Any, grad: Any, geometry: PoolGeometry) -> torch.Tensor:
    """Send every output's gradient to all maxima in its window, as TF does over volumes."""
    if geometry.empty:
        return torch.zeros_like(image, dtype=grad.dtype)
    image, best, grad = (image_in(tensor, geometry) for tensor in (image, best, grad))
    before = [pad - drop for pad, drop in zip(geometry.padding, geometry.drop)]
    spans = [
        (count - 1) * step + edge
        for count, step, edge in zip(grad.shape[2:], geometry.strides, geometry.window)
    ]
    after = [max(0, n - pad - size) for n, pad, size in zip(spans, before, image.shape[2:])]
    widths = [width for pair in zip(reversed(before), reversed(after)) for width in pair]
    padded = F.pad(image, widths)
    total = grad.new_zeros(padded.shape)
    for offset in itertools.product(*map(range, geometry.window)):
        place = (..., *(
            slice(start, start + (count - 1) * step + 1, step)
            for start, count, step in zip(offset, grad.shape[2:], geometry.strides)
        ))  # fmt: skip
        total[place] += grad.masked_fill(padded[place] != best, 0)
    inside = (..., *(slice(pad, pad + size) for pad, size in zip(before, image.shape[2:])))
    return image_out(total[inside], geometry)


def max_pool_grad_at(image: Any, grad: Any, places: Any, geometry: PoolGeometry) -> torch.Tensor:
    """`max_pool_grad` where `max_pool_with_places` told where the maxima stand."""
    if geometry.empty:
        return torch.zeros_like(image)
    if places.dtype is torch.uint8:
        return native_kernels.max_pool_gradient(image, grad, places, geometry)
    image = image_in(image, geometry)
    grad = _with_dropped(image_in(grad, geometry), geometry.drop)
    if not image.is_floating_point():
        return image_out(_scatter(image.shape, grad, places), geometry)
    backward = (
        aten.max_pool2d_with_indices_backward
        if image.ndim == 4
        else aten.max_pool3d_with_indices_backward
    ).default
    window, strides, padding = _arguments(geometry)
    ones = [1] * len(window)
    found = backward(grad, image, window, strides, padding, ones, geometry.ceil, places)
    return image_out(found, geometry)


def _scatter(shape: Sequence[int], grad: Any, index: Any) -> torch.Tensor:
    result = grad.new_zeros((shape[0], shape[1], _count(shape[2:])))
    result.scatter_add_(2, index.flatten(2), grad.flatten(2))
    return result.view(shape)


def _count(sizes: Sequence[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


def max_pool_grad_grad(image: Any, grad: Any, geometry: PoolGeometry) -> torch.Tensor:
    """Return the gradient of every output's gradient from the first maximum in its window."""
    if geometry.empty:
        return max_pool(image, geometry)
    if (found := native_kernels.second_gradient(image, grad, geometry)) is not None:
        return found
    image = image_in(image, geometry)
    _, index = maximum_and_index(image, geometry)
    index = _dropped(index, geometry.drop)
    flat = image_in(grad, geometry).flatten(2)
    return image_out(flat.gather(2, index.flatten(2)).view(index.shape), geometry)


def depth_max_pool(image: Any, window: int, axis: int) -> torch.Tensor:
    """Maxima over groups of `window` neighbouring channels."""
    groups = image.unflatten(axis, (-1, window))
    best = groups.amax(axis + 1)
    if _has_nan(best):
        first = groups.select(axis + 1, 0)
        best = torch.where(first.isnan(), first, _without_nan(groups).amax(axis + 1))
    return best


# ---- averages


def _is_narrow(sizes: Sequence[int], geometry: PoolGeometry) -> bool:
    """Return True if the volume is smaller than the window, which torch does not average."""
    return len(sizes) == 3 and any(a < b for a, b in zip(sizes, geometry.window))


def _clipped(sizes: Sequence[int], geometry: PoolGeometry) -> list[tuple[int, int]]:
    """Window and padding before, for each axis, without what lies in padding for every output.

    A window never begins behind the volume, so padding beyond the volume's and the window's length
    covers nothing: the padded volume is at most three times as large.
    """
    found = []
    for size, window, before, drop in zip(
        sizes, geometry.window, geometry.padding, geometry.drop, strict=True
    ):
        start = min(before - drop, size - 1)
        found.append((min(window - (before - drop) + start, start + size), start))
    return found


def _widths(sizes: Sequence[int], geometry: PoolGeometry) -> list[int]:
    """Return the padding in the order of `F.pad` with which windows fit a narrow volume exactly."""
    result: list[int] = []
    for size, (window, before), step, count in zip(
        sizes, _clipped(sizes, geometry), geometry.strides, geometry.counts(sizes), strict=True
    ):
        after = max(0, (count - 1) * step + window - size - before)
        result = [before, after, *result]
    return result


def _narrow_counts(image: Any, widths: list[int], window: Any, strides: Any) -> torch.Tensor:
    """Return the number of elements of the volume in each window."""
    ones = F.pad(torch.ones_like(image[:1, :1]), widths)
    zero = [0] * len(window)
    return aten.avg_pool3d.default(ones, window, strides, zero, False, True, 1)


def _narrow_avg_pool(image: Any, geometry: PoolGeometry) -> torch.Tensor:
    _, strides, _ = _arguments(geometry)
    window = [width for width, _ in _clipped(image.shape[2:], geometry)]
    widths, zero = _widths(image.shape[2:], geometry), [0] * len(window)
    total = aten.avg_pool3d.default(F.pad(image, widths), window, strides, zero, False, True, 1)
    return total / _narrow_counts(image, widths, window, strides)


def _narrow_avg_pool_grad(grad: Any, image: Any, geometry: PoolGeometry) -> torch.Tensor:
    _, strides, _ = _arguments(geometry)
    window = [width for width, _ in _clipped(image.shape[2:], geometry)]
    widths, zero = _widths(image.shape[2:], geometry), [0] * len(window)
    grad = grad / _narrow_counts(image, widths, window, strides)
    padded = F.pad(image, widths)
    found = aten.avg_pool3d_backward.default(grad, padded, window, strides, zero, False, True, 1)
    for axis, size in enumerate(image.shape[2:], 2):
        found = found.narrow(axis, widths[-2 * (axis - 1)], size)
    return found


def avg_pool(image: Any, geometry: PoolGeometry) -> torch.Tensor:
    """Run AvgPool or AvgPool3D."""
    function = aten.avg_pool2d.default if image.ndim == 4 else aten.avg_pool3d.default
    window, strides, padding = _arguments(geometry)
    image = image_in(image, geometry)
    if geometry.empty:
        return image_out(geometry.empty_output(image), geometry)
    if _is_narrow(image.shape[2:], geometry):
        return image_out(_narrow_avg_pool(image, geometry), geometry)
    result = function(image, window, strides, padding, geometry.ceil, False)
    return image_out(_dropped(result, geometry.drop), geometry)


def avg_pool_grad(grad: Any, shape: Sequence[int], geometry: PoolGeometry) -> torch.Tensor:
    """Spreads every output's gradient evenly over its window; `shape` is the input's."""
    if geometry.empty:
        return grad.new_zeros(tuple(shape))
    function = (aten.avg_pool2d_backward if len(shape) == 4 else aten.avg_pool3d_backward).default
    window, strides, padding = _arguments(geometry)
    # With channels last, torch's kernel for GPUs counts padding of windows where it should not.
    image = _empty_image(grad, shape, geometry, not grad.is_cpu and any(padding))
    if _is_narrow(image.shape[2:], geometry):
        found = _narrow_avg_pool_grad(image_in(grad, geometry), image, geometry)
        return image_out(found, geometry)
    grad = _with_dropped(image_in(grad, geometry), geometry.drop)
    found = function(grad, image, window, strides, padding, geometry.ceil, False, None)
    return image_out(found, geometry)


# ---- places of maxima as MaxPoolWithArgmax counts them: along the whole image, channels last


def max_pool_with_argmax(image: Any, geometry: PoolGeometry, whole: bool) -> tuple[Any, Any]:
    """Maxima of NHWC images and their places, within each image or in the whole batch."""
    channels = image.shape[-1]
    if geometry.empty:
        best = max_pool(image, geometry)
        return best, torch.zeros_like(best, dtype=torch.int64)
    best, index = maximum_and_index(image_in(image, geometry), geometry)
    best = image_out(_dropped(best, geometry.drop), geometry)
    index = image_out(_dropped(index, geometry.drop), geometry)
    index = index * channels + torch.arange(channels, device=index.device)
    return best, index + _starts(image, index.ndim) if whole else index


def _starts(image: Any, rank: int) -> torch.Tensor:
    """Return the offset of each image of a batch."""
    count = image[0].numel()
    starts = torch.arange(0, image.shape[0] * count, max(count, 1), device=image.device)
    return starts.view(-1, *(1,) * (rank - 1))


def _flat_places(image: Any, argmax: Any, whole: bool) -> torch.Tensor:
    places = argmax.long() if whole else argmax.long() + _starts(image, argmax.ndim)
    places = places.reshape(-1)
    if places.numel():
        low, high = places.aminmax()
        if low < 0 or high >= image.numel():
            raise ValueError(f"Invalid output gradient index: {int(high)}, 0, {image.numel()}")
    return places


def scatter_to_argmax(image: Any, grad: Any, argmax: Any, whole: bool) -> torch.Tensor:
    """Send gradients back to the places of the maxima."""
    result = grad.new_zeros(image.numel())
    result.index_add_(0, _flat_places(image, argmax, whole), grad.reshape(-1))
    return result.view(image.shape)


def gather_from_argmax(grad: Any, argmax: Any, whole: bool) -> Any:
    """Gather values from the places of the maxima."""
    return grad.reshape(-1)[_flat_places(grad, argmax, whole)].view(argmax.shape)
