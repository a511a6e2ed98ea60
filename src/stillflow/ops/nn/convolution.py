"""Convolutions in torch, with TensorFlow's layouts, for the cards of Conv2D and Conv3D.

Graph tensors are NHWC (NDHWC); seen through a permutation they are torch's channels-last tensors,
for which its kernels are fastest and whose results permute back to contiguous NHWC memory. So
layouts cost nothing. Filters are HWIO, seen as OIHW.

Torch pads equally before and after. Where SAME or explicit paddings are unequal, the input is
padded first and its gradient is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from stillflow.graph.lazy import F, aten, torch
from stillflow.ops.nn import native_kernels, pointwise, whole_windows
from stillflow.ops.nn.windows import (
    Pair,
    channel_axis,
    channels_first,
    channels_last,
    output_size,
    pads,
    spatial,
    spatial_axes,
)


class Geometry(NamedTuple):
    """Geometry of a sliding window, the same for a convolution and both its gradients.

    A pass that merges steps may turn an `input_gradient` and a `filter_gradient` of one geometry
    and output gradient into one `both_gradients`; `sizes` separates other shapes.
    """

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[Pair, ...]
    is_channels_last: bool
    groups: int = 1
    sizes: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())  # of the image, of the filter

    @property
    def padding(self) -> tuple[int, ...]:
        """The padding left to torch, before and after."""
        return tuple(before if before == after else 0 for before, after in self.pads)

    @property
    def unequal(self) -> tuple[int, ...]:
        """Paddings in the order of `F.pad`, for dimensions padded unequally; empty if none is."""
        if all(before == after for before, after in self.pads):
            return ()
        result: list[int] = []
        for before, after in reversed(self.pads):
            result += (0, 0) if before == after else (before, after)
        return tuple(result)


class Slide(NamedTuple):
    """A convolution's attributes; with the shapes of a run they make its geometry."""

    strides: tuple[int, ...]  # like all attributes: one entry per dimension of the image
    dilations: tuple[int, ...]
    padding: bytes
    explicit: tuple[int, ...]
    data_format: bytes

    def geometry(self, image: Sequence[int], filter: Sequence[int]) -> Geometry:
        """Return the geometry of the window on an image of this shape."""
        return _geometry(self, tuple(image), tuple(filter))

    def counts(self, image: Sequence[int], filter: Sequence[int]) -> list[int]:
        """Return the number of window positions along each spatial dimension."""
        return [
            output_size(
                image[axis], filter[i], self.strides[axis], self.padding, self.dilations[axis],
                sum(self.explicit[2 * axis : 2 * axis + 2]), running=True,
            )
            for i, axis in enumerate(spatial_axes(self.data_format))
        ]  # fmt: skip


@lru_cache(1024)
def _geometry(slide: Slide, image: tuple[int, ...], filter: tuple[int, ...]) -> Geometry:
    form = slide.data_format
    strides, dilations = spatial(slide.strides, form), spatial(slide.dilations, form)
    if slide.padding == b"EXPLICIT":
        pairs = zip(slide.explicit[::2], slide.explicit[1::2])
        padding = spatial(list(pairs), form)
    else:
        padding = pads(spatial(image, form), filter, strides, slide.padding, dilations)
    channels = image[channel_axis(form)]
    groups = channels // filter[-2] if filter[-2] else 1
    is_channels_last = not form.startswith(b"NC")
    return Geometry(strides, dilations, padding, is_channels_last, max(groups, 1), (image, filter))


@lru_cache(1024)
def _torch_arguments(geometry: Geometry) -> tuple[Any, ...]:
    """Return the arguments of `aten.convolution` after its tensors."""
    count = len(geometry.strides)
    return (
        list(geometry.strides), list(geometry.padding), list(geometry.dilations), False,
        [0] * count, geometry.groups,
    )  # fmt: skip


@cache
def _orders(rank: int) -> tuple[tuple[int, ...], ...]:
    """Permutations: image to torch and back, filter to torch and back."""
    filter_in = (rank - 1, rank - 2, *range(rank - 2))
    filter_out = (*range(2, rank), 1, 0)
    return channels_first(rank), channels_last(rank), filter_in, filter_out


_unequal = lru_cache(1024)(lambda geometry: geometry.unequal)


def image_in(image: Any, geometry: Geometry) -> torch.Tensor:
    """Return an image tensor as torch sees it."""
    return image.permute(_orders(image.ndim)[0]) if geometry.is_channels_last else image


def sizes_in(shape: Sequence[int], geometry: Geometry) -> Sequence[int]:
    """Return the shape of an image as torch sees it."""
    if not geometry.is_channels_last:
        return shape
    return [shape[axis] for axis in _orders(len(shape))[0]]


def image_out(image: Any, geometry: Geometry) -> torch.Tensor:
    """Return the graph's tensor of a torch image."""
    if geometry.is_channels_last:
        image = image.permute(_orders(image.ndim)[1])
    return image.contiguous()


def filter_in(filter: Any, geometry: Geometry) -> torch.Tensor:
    """Return a filter tensor HWIO as torch's OIHW."""
    if geometry.is_channels_last and native_kernels.rotates(filter):
        turned = native_kernels.rotated(filter, filter.ndim - 1)
        return turned.permute(_orders(filter.ndim)[0])
    return filter.permute(_orders(filter.ndim)[2])


def filter_out(filter: Any) -> torch.Tensor:
    """Return a torch filter OIHW as the graph's HWIO."""
    turned = filter.permute(_orders(filter.ndim)[1])
    if native_kernels.rotates(turned):
        return native_kernels.rotated(turned, 1)
    return filter.permute(_orders(filter.ndim)[3]).contiguous()


def padded(image: Any, geometry: Geometry) -> torch.Tensor:
    """Return a torch image with those paddings that torch does not do itself."""
    unequal = _unequal(geometry)
    return F.pad(image, unequal) if unequal else image


def cut(image: Any, geometry: Geometry, sizes: Sequence[int]) -> torch.Tensor:
    """Undoes `padded` on a gradient of an image of the given spatial sizes."""
    for axis, ((before, after), size) in enumerate(zip(geometry.pads, sizes), 2):
        if before != after:
            image = image.narrow(axis, before, size)
    return image


def empty_image(like: Any, shape: Sequence[int], geometry: Geometry) -> torch.Tensor:
    """Memory never read: gradient kernels of torch look at the shape of an input only."""
    unequal = _unequal(geometry)
    sizes = list(shape)
    for axis, (before, after) in enumerate(geometry.pads, 2):
        if unequal and before != after:
            sizes[axis] += before + after
    if not geometry.is_channels_last:
        return like.new_empty(sizes)
    layout = torch.channels_last if len(sizes) == 4 else torch.channels_last_3d
    return torch.empty(sizes, dtype=like.dtype, device=like.device, memory_format=layout)


def convolve(image: Any, weight: Any, geometry: Geometry) -> torch.Tensor:
    """Return the convolution of a torch image with a torch weight."""
    return aten.convolution.default(
        padded(image, geometry), weight, None, *_torch_arguments(geometry)
    )


def backward(
    grad: Any, image: Any, weight: Any, geometry: Geometry, mask: list[bool]
) -> tuple[Any, Any]:
    """Gradients for a padded torch image and for a torch weight, as far as `mask` asks."""
    if overruns(weight, geometry):
        grad, image, weight = (each.contiguous() for each in (grad, image, weight))
    found = aten.convolution_backward.default(
        grad, image, weight, None, *_torch_arguments(geometry), [*mask, False]
    )
    return found[0], found[1]


def overruns(weight: Any, geometry: Geometry) -> bool:
    """Return True where oneDNN's loops for AVX2 write beyond their memory.

    Those for filters of one place with strides do, channels last, with fewer than 8 channels (seen
    with torch 2.13; channels first are right). Most such convolutions are matrix products here.
    """
    is_point = max(weight.shape[2:], default=0) == 1
    return is_point and weight.shape[1] < 8 and max(geometry.strides) > 1


# ---- kernels over the graph's tensors


def zeros(like: Any, shape: Sequence[int]) -> torch.Tensor:
    """Return the output where a window fits nowhere; torch rejects such images."""
    return like.new_zeros(tuple(shape))


def result_shape(
    image: Sequence[int], filter: Sequence[int], geometry: Geometry
) -> tuple[int, ...]:
    """Return the shape of a convolution's output, of those of an image and a filter."""
    first = 1 if geometry.is_channels_last else 2
    sizes = [
        (size + before + after - (width - 1) * dilation - 1) // stride + 1
        for size, width, stride, dilation, (before, after) in zip(
            image[first:], filter, geometry.strides, geometry.dilations, geometry.pads
        )
    ]
    if geometry.is_channels_last:
        return (image[0], *sizes, filter[-1])
    return (image[0], filter[-1], *sizes)


def convolution(image: Any, filter: Any, geometry: Geometry) -> torch.Tensor:
    """Run Conv2D or Conv3D."""
    if not image.numel():
        return zeros(image, result_shape(image.shape, filter.shape, geometry))
    if folded := whole_windows.folded(image, geometry):
        image_size, filter_size = folded.sizes
        return convolution(image.reshape(image_size), filter.reshape(filter_size), folded)
    if pointwise.applies(image, geometry):
        return pointwise.convolution(image, filter, geometry)
    weight = filter_in(filter, geometry)
    return image_out(convolve(image_in(image, geometry), weight, geometry), geometry)


def input_gradient(
    filter: Any, grad: Any, shape: Sequence[int], geometry: Geometry
) -> torch.Tensor:
    """Return the gradient for an image of `shape` (in the graph's order)."""
    if not grad.numel():
        return zeros(grad, shape)
    if folded := whole_windows.folded(grad, geometry):
        image_size, filter_size = folded.sizes
        found = input_gradient(filter.reshape(filter_size), grad, image_size, folded)
        return found.view(tuple(shape))
    if pointwise.applies(grad, geometry):
        return pointwise.input_gradient(filter, grad, shape, geometry)
    shape = sizes_in(shape, geometry)
    grad = image_in(grad, geometry)
    image = empty_image(grad, shape, geometry)
    found, _ = backward(grad, image, filter_in(filter, geometry), geometry, [True, False])
    return image_out(cut(found, geometry, shape[2:]), geometry)


def filter_gradient(
    image: Any, grad: Any, shape: Sequence[int], geometry: Geometry
) -> torch.Tensor:
    """Return the gradient for a filter of `shape` (HWIO)."""
    if not grad.numel():
        return zeros(grad, shape)
    if folded := whole_windows.folded(grad, geometry):
        image_size, filter_size = folded.sizes
        found = filter_gradient(image.reshape(image_size), grad, filter_size, folded)
        return found.view(tuple(shape))
    if pointwise.applies(grad, geometry):
        return pointwise.filter_gradient(image, grad, shape, geometry)
    image = padded(image_in(image, geometry), geometry)
    weight = grad.new_empty(tuple(shape)).permute(_orders(len(shape))[2])
    _, found = backward(image_in(grad, geometry), image, weight, geometry, [False, True])
    return filter_out(found)


def both_gradients(image: Any, filter: Any, grad: Any, geometry: Geometry) -> tuple[Any, Any]:
    """`input_gradient` and `filter_gradient` in one call."""
    if not grad.numel():
        return zeros(grad, image.shape), zeros(grad, filter.shape)
    if folded := whole_windows.folded(grad, geometry):
        image_size, filter_size = folded.sizes
        images, filters = both_gradients(
            image.reshape(image_size), filter.reshape(filter_size), grad, folded
        )
        return images.view(image.shape), filters.view(filter.shape)
    if pointwise.applies(grad, geometry):
        return (
            pointwise.input_gradient(filter, grad, image.shape, geometry),
            pointwise.filter_gradient(image, grad, filter.shape, geometry),
        )
    image = image_in(image, geometry)
    found, weight = backward(
        image_in(grad, geometry), padded(image, geometry), filter_in(filter, geometry), geometry,
        [True, True],
    )  # fmt: skip
    return image_out(cut(found, geometry, image.shape[2:]), geometry), filter_out(weight)
