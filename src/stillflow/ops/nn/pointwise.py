"""Convolutions with windows of one place: products of matrices.

On the CPU they are faster so, most of all where the window leaves places out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from stillflow.graph.lazy import torch
from stillflow.ops.linalg.onednn_products import multiply

if TYPE_CHECKING:
    from stillflow.ops.nn.convolution import Geometry


def applies(tensor: Any, geometry: Geometry) -> bool:
    """Return True if a convolution of `tensor` is faster as a matrix product."""
    return tensor.is_cpu and _has_one_place(geometry)


@lru_cache(1024)
def _has_one_place(geometry: Geometry) -> bool:
    window = geometry.sizes[1][:-2]
    is_padded = any(map(any, geometry.pads))
    plain = geometry.is_channels_last and geometry.groups == 1 and not is_padded
    return plain and bool(window) and set(window) == {1}


def convolution(image: Any, filter: Any, geometry: Geometry) -> torch.Tensor:
    """Return the convolution of an image, channels last, with a filter."""
    places = _taken(image, geometry)
    product = multiply(_matrix(places), _matrix(filter))
    return product.view(*places.shape[:-1], filter.shape[-1])


def input_gradient(
    filter: Any, grad: Any, shape: Sequence[int], geometry: Geometry
) -> torch.Tensor:
    """Return the gradient for an image of `shape`: zero where no window looks."""
    found = multiply(_matrix(grad), _matrix(filter).t())
    if set(geometry.strides) == {1}:
        return found.view(*shape)
    whole = found.new_zeros(tuple(shape))
    places = _taken(whole, geometry)
    places.copy_(found.view(places.shape))
    return whole


def filter_gradient(
    image: Any, grad: Any, shape: Sequence[int], geometry: Geometry
) -> torch.Tensor:
    """Return the gradient for a filter of `shape`."""
    return multiply(_matrix(_taken(image, geometry)).t(), _matrix(grad)).view(*shape)


def _matrix(tensor: Any) -> torch.Tensor:
    return tensor.reshape(-1, tensor.shape[-1])


def _taken(image: Any, geometry: Geometry) -> torch.Tensor:
    """Return the places of an image that the window looks at."""
    return image[(slice(None), *(slice(None, None, stride) for stride in geometry.strides))]
