"""Convolutions and dense layers with constant weights, which oneDNN has laid out once.

oneDNN reads weights in blocks whose shape depends on the processor. A call with plain weights moves
them there every time; for a frozen graph that is done when the plan is made. The offset, and
another image to add, are added while the result is in registers. A ReLU is not: oneDNN's
makes 0 of NaN, where TensorFlow's keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

from stillflow.graph.lazy import torch
from stillflow.ops.linalg import onednn_products
from stillflow.ops.nn import convolution as kernels
from stillflow.ops.nn.convolution import Geometry

_NOTHING: tuple[str, list[Any], str] = ("none", [], "")  # no activation, its numbers, its kind


@dataclass(frozen=True)
class Normalized:
    """A convolution whose filter has the factors of a normalization, and the sum after it."""

    convolve: Callable[..., Any]

    def __call__(self, image: Any, filter: Any, offset: Any, *rest: Any) -> Any:
        return self.convolve(image, filter, *rest).add_(offset)


@cache
def is_available() -> bool:
    """Return True if this PyTorch has oneDNN's packed weights."""
    names = ("_convolution_pointwise", "_reorder_convolution_weight")
    has_all = all(hasattr(torch.ops.mkldnn, name) for name in names)
    return has_all and onednn_products.is_available()


def packs_convolution(weight: Any, geometry: Geometry) -> bool:
    """Return True if a convolution of images, channels last, gains by packed weights.

    These calls check little: images and outputs with a side or with channels of 1 may give wrong
    numbers, and more padding than the window needs ends the process. Others were right for 28,000
    convolutions drawn at random (torch 2.11 to 2.15; AVX-512 and AVX2).

    Args:
      weight: as torch sees it, OIHW.
      geometry: of the convolution, with the sizes of its image.
    """
    image, filter = geometry.sizes
    if not geometry.is_channels_last or len(image) != 4 or 0 in image:
        return False
    windows = [
        (size - 1) * dilation for size, dilation in zip(weight.shape[2:], geometry.dilations)
    ]
    outputs = kernels.result_shape(image, filter, geometry)
    return (
        min(*image[1:], *outputs[1:3], weight.shape[0]) > 1
        and all(max(pads) <= window for pads, window in zip(geometry.pads, windows))
        and not kernels.overruns(weight, geometry)
    )


def convolution(weight: Any, offset: Any, geometry: Geometry) -> Callable[..., Any]:
    """Return a function of an image, and of another one to add, that convolves and adds.

    Args:
      weight: as torch sees it, OIHW.
      offset: for each channel, or None.
      geometry: of the convolution, with the sizes of its image.
    """
    padding, strides, dilations = (
        list(geometry.padding), list(geometry.strides), list(geometry.dilations)
    )  # fmt: skip
    sizes = kernels.sizes_in(geometry.sizes[0], geometry)
    empty = torch.empty(tuple(sizes), memory_format=torch.channels_last)
    padded = list(kernels.padded(empty, geometry).shape)
    packed = torch.ops.mkldnn._reorder_convolution_weight(
        weight.contiguous(), padding, strides, dilations, geometry.groups, padded
    )
    rest = packed, offset, padding, strides, dilations, geometry.groups
    plain = torch.ops.mkldnn._convolution_pointwise.default
    adding = torch.ops.mkldnn._convolution_pointwise.binary

    def convolve(image: Any, other: Any = None) -> Any:
        image = kernels.padded(kernels.image_in(image, geometry), geometry)
        if other is None:
            found = plain(image, *rest, *_NOTHING)
        else:
            other = kernels.image_in(other, geometry)
            found = adding(image, other, *rest, "add", 1.0, None, [], None)
        return kernels.image_out(found, geometry)

    return convolve


class _Packed:
    """A matrix of weights, and its packed form."""

    def __init__(self, kernel: Any, rows: int) -> None:
        self.kernel = kernel  # lives as long, so that no other one gets its memory
        self.weight = torch.ops.mkldnn._reorder_linear_weight(kernel.t().contiguous(), rows)


# By address and shape: the plans of several batch sizes share the weights of a model.
_shared: WeakValueDictionary[Any, _Packed] = WeakValueDictionary()


def dense(kernel: Any, offset: Any, rows: int) -> Callable[[Any], Any]:
    """Return a function that multiplies a matrix by a constant one, and adds an offset.

    Args:
      kernel: the matrix, of shape [inputs, outputs].
      offset: for each output, or None.
      rows: of the matrices that come; others are right, too.
    """
    key = kernel.data_ptr(), kernel.shape, kernel.stride()
    packed = _shared.get(key)
    if packed is None:
        packed = _shared[key] = _Packed(kernel, rows)
    return lambda x: onednn_products.linear(x, packed.weight, offset)
