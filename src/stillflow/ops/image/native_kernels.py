"""Crops and their gradients by the loops in C, added up in TensorFlow's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls
from stillflow.ops.nn.interpolation import Weights


class Places(Protocol):
    """Places of crops' pixels along one dimension of images."""

    def weights_inside(self) -> Weights:
        """Return their neighbours, a row for each box; the lower one is -1 outside."""


def crop(
    image: Any, boxes: Any, indices: Any, size: Sequence[int], method: bytes, outside: float
) -> torch.Tensor | None:
    """Return crops of images of any type, resized; None without a loop. See `of_images`."""
    if not native_calls.reach(image, indices) or not native_calls.take(boxes):
        return None
    library: Any = native.library()
    if image.dtype is not torch.uint8:
        image = image.to(torch.float32)
    result = torch.empty((len(boxes), *size, image.shape[3]), dtype=torch.float32)
    wrong = library.crop_images(
        image.data_ptr(), image.dtype is torch.uint8, *image.shape, boxes.data_ptr(),
        indices.data_ptr(), *result.shape[:3], method == b"nearest", outside, result.data_ptr(),
        torch.get_num_threads(),
    )  # fmt: skip
    return None if wrong else result


def of_images(
    grads: Any, indices: Any, sizes: list[int], rows: Places, columns: Places
) -> torch.Tensor | None:
    """Return the gradient of images from that of crops; None without a native loop.

    `grads` are float32 [boxes, rows, columns, channels], `sizes` [batch, height, width, channels],
    `indices` the image of each box.
    """
    if not native_calls.take(grads):
        return None
    library: Any = native.library()
    sources, result = indices.long(), torch.empty(sizes, dtype=torch.float32)
    down, across = rows.weights_inside(), columns.weights_inside()
    if result.numel():
        library.crop_gradient_of_images(
            grads.data_ptr(), *sizes, sources.data_ptr(), len(sources), down.for_library,
            across.for_library, result.data_ptr(), torch.get_num_threads(),
        )  # fmt: skip
    return result


def of_boxes(
    grads: Any, images: Any, indices: Any, rows: Places, columns: Places
) -> torch.Tensor | None:
    """Return the gradient of the boxes of any images; None without a loop. See `of_images`."""
    if not native_calls.take(grads) or not native_calls.reach(images):
        return None
    library: Any = native.library()
    if images.dtype is not torch.uint8:
        images = images.to(torch.float32)
    sources, result = indices.long(), torch.empty((len(indices), 4), dtype=torch.float32)
    down, across = rows.weights_inside(), columns.weights_inside()
    library.crop_gradient_of_boxes(
        grads.data_ptr(), images.data_ptr(), images.dtype is torch.uint8, *images.shape[1:],
        sources.data_ptr(), len(sources), down.for_library, across.for_library,
        result.data_ptr(), torch.get_num_threads(),
    )  # fmt: skip
    return result
