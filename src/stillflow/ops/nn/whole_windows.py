"""Convolutions whose window is as large as the image along its last dimensions.

That is how networks read text: a window takes a few words, and all numbers of each. Axes that such
a window never moves along count as channels, of which torch's kernels like to have many: for images
of a single channel their gradients take twenty times as long.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stillflow.ops.nn.convolution import Geometry


def folded(tensor: Any, geometry: Geometry) -> Geometry | None:
    """Return the same convolution with more channels; None if `tensor` is convolved as it is.

    Its `sizes` are those of the image and of the filter, which keep their memory; results keep
    their shape.
    """
    return _folded(geometry) if tensor.is_cpu else None


@lru_cache(1024)
def _folded(geometry: Geometry) -> Geometry | None:
    image, filter = geometry.sizes
    if not geometry.is_channels_last or geometry.groups != 1 or len(image) != len(filter):
        return None
    spatial = len(geometry.strides)
    kept = spatial
    while kept and filter[kept - 1] == image[kept] and not any(geometry.pads[kept - 1]):
        kept -= 1
    if prod(filter[kept:spatial]) == 1:
        return None
    ones = (1,) * (spatial - kept)
    return geometry._replace(
        strides=geometry.strides[:kept] + ones,
        dilations=geometry.dilations[:kept] + ones,
        pads=geometry.pads[:kept] + ((0, 0),) * len(ones),
        sizes=(
            (*image[: kept + 1], *ones, prod(image[kept + 1 :])),
            (*filter[:kept], *ones, prod(filter[kept:-1]), filter[-1]),
        ),
    )
