"""Images looked up at any places between their pixels, with zeros around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import native
from stillflow.errors import unimplemented
from stillflow.graph import dims as dims_lib
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops import native_calls
from stillflow.ops.samples import Bad, Sample, Samples

resampler_op = op("""
    Resampler(data: T, warp: T) -> output: T
    T: {half, bfloat16, float, double}
""")
resampler_grad_op = op(
    """
    ResamplerGrad(data: T, warp: T, grad_output: T) -> (grad_data: T, grad_warp: T)
    T: {half, bfloat16, float, double}
    """,
    differentiable=False,
)


@resampler_op.shape
def resampler_shape(node: Node) -> OutputDims:
    data = dims_lib.with_rank_at_least(node.dims(0), 1)
    warp = dims_lib.with_rank_at_least(node.dims(1), 1)
    if warp is None:
        return None
    return (*warp[:-1], dims_lib.dim(data, -1))


@resampler_grad_op.shape
def resampler_grad_shape(node: Node) -> OutputDims:
    return [node.dims(0), node.dims(1)]


def _refuse(message: str) -> None:
    raise unimplemented(message)


def _check_warp(warp: Any) -> None:
    if warp.dim() < 2:
        raise ValueError(f"warp should be at least a matrix, got shape {shape_text(warp.shape)}")
    if warp.shape[-1] != 2:
        _refuse(
            "Only bilinear interpolation is supported, warping coordinates must be 2D; warp shape "
            f"last entry should be 2, but shape vector is: {shape_text(warp.shape)}"
        )


def _check(data: Any, warp: Any) -> None:
    if data.dim() != 4:
        _refuse(
            "Only bilinear interpolation is currently supported. The input data shape must be "
            "[batch_size, data_height, data_width, data_channels], but is: "
            f"{shape_text(data.shape)}"
        )
    _check_warp(warp)
    if data.shape[0] != warp.shape[0]:
        raise ValueError(
            "Batch size of data and warp tensor must be the same, but input shapes are: "
            f"{shape_text(data.shape)}, {shape_text(warp.shape)}"
        )


def _check_grad(data: Any, warp: Any, grad: Any) -> None:
    if data.dim() != 4:
        _refuse(
            "Only bilinear interpolation is supported, the input data tensor must be a batch of 2d "
            "data; data shape should have 4 entries corresponding to [batch_size, data_height, "
            f"data_width, data_channels], but is: {shape_text(data.shape)}"
        )
    _check_warp(warp)
    expected = (*warp.shape[:-1], data.shape[3])
    if tuple(grad.shape) != expected:
        raise ValueError(
            "grad_output shape is not consistent with data and warp shapes; it should be "
            f"{shape_text(expected)} but is {shape_text(grad.shape)}"
        )


class _Corners:
    """The four pixels around places, and how near places are to the first ones.

    `data` is [batch, height, width, channels], `warp` [batch, ..., 2], places x and y.
    """

    def __init__(self, data: Any, warp: Any) -> None:
        self._data = data
        batch, height, width, _ = data.shape
        x, y = warp.reshape(batch, -1, 2).unbind(-1)
        # Zeros surround images: places less than a pixel outside still see the border.
        self.inside = (x > -1) & (y > -1) & (x < width) & (y < height)
        x, y = (torch.where(self.inside, place, torch.zeros_like(place)) for place in (x, y))
        self.left, self.top = (place.float().floor().long() for place in (x, y))
        self.dx = ((self.left + 1).to(x.dtype) - x)[..., None]
        self.dy = ((self.top + 1).to(y.dtype) - y)[..., None]
        self._image = torch.arange(batch, device=data.device)[:, None]

    def _place(self, right: int, down: int) -> tuple[Any, Any, Any]:
        """Rows, columns, and which of them are in the image: [batch, places] each."""
        _, height, width, _ = self._data.shape
        x, y = self.left + right, self.top + down
        seen = self.inside & (x >= 0) & (y >= 0) & (x < width) & (y < height)
        return torch.where(seen, y, 0), torch.where(seen, x, 0), seen[..., None]

    def pixel(self, right: int, down: int) -> torch.Tensor:
        """[batch, places, channels], zeros outside."""
        rows, columns, seen = self._place(right, down)
        found = self._data[self._image, rows, columns]
        return torch.where(seen, found, found.new_zeros(()))

    def weight(self, right: int, down: int) -> Any:
        """Return the weight of each pixel, [batch, places, 1]."""
        across = 1 - self.dx if right else self.dx
        return across * (1 - self.dy if down else self.dy)

    def add(self, total: Any, right: int, down: int, values: Any) -> None:
        """Add [batch, places, channels] to the pixels of `total`."""
        rows, columns, seen = self._place(right, down)
        values = torch.where(seen, values, values.new_zeros(()))
        total.index_put_((self._image, rows, columns), values, accumulate=True)


# In the order in which TensorFlow adds them up.
_ALL = ((0, 0), (1, 1), (0, 1), (1, 0))


def _loops() -> Any:
    return native.library()


def _sizes(data: Any, warp: Any) -> tuple[int, ...]:
    """Images and places as loops in C take them."""
    return data.data_ptr(), *data.shape, warp.data_ptr(), warp[0].numel() // 2


def _resampled(data: Any, warp: Any) -> torch.Tensor:
    _check(data, warp)
    shape = (*warp.shape[:-1], data.shape[3])
    if warp.numel() == 0 or data.numel() == 0:
        return data.new_zeros(shape)
    if native_calls.take(data, warp):
        found = data.new_empty(shape)
        _loops().sample_images(*_sizes(data, warp), found.data_ptr(), torch.get_num_threads())
        return found
    corners = _Corners(data, warp)
    first, *others = (corners.weight(*each) * corners.pixel(*each) for each in _ALL)
    for other in others:
        first = first + other
    return torch.where(corners.inside[..., None], first, first.new_zeros(())).reshape(shape)


def _gradients(data: Any, warp: Any, grad: Any) -> tuple[Any, Any]:
    _check_grad(data, warp, grad)
    of_data = torch.zeros_like(data)
    if grad.numel() == 0 or data.numel() == 0:
        return of_data, torch.zeros_like(warp)
    if native_calls.take(data, warp, grad, of_data):
        of_warp = torch.empty_like(warp)
        _loops().sample_images_gradient(
            *_sizes(data, warp), grad.data_ptr(), of_data.data_ptr(), of_warp.data_ptr(),
            torch.get_num_threads(),
        )  # fmt: skip
        return of_data, of_warp
    corners = _Corners(data, warp)
    flat = grad.reshape(data.shape[0], -1, data.shape[3])
    dx, dy = corners.dx, corners.dy
    first, last, below, right = (corners.pixel(*each) for each in _ALL)
    by_x = flat * ((1 - dy) * (last - below) + dy * (right - first))
    by_y = flat * ((1 - dx) * (last - right) + dx * (below - first))
    of_warp = torch.stack([by_x.sum(-1), by_y.sum(-1)], -1)
    of_warp = torch.where(corners.inside[..., None], of_warp, of_warp.new_zeros(()))
    for each in _ALL:
        corners.add(of_data, *each, flat * corners.weight(*each))
    return of_data, of_warp.reshape(warp.shape)


@resampler_op.kernel
def resampler_kernel(node: Node) -> Kernel:
    return node.call(_resampled, *node.inputs)


@resampler_grad_op.kernel
def resampler_grad_kernel(node: Node) -> Kernel:
    return node.call(_gradients, *node.inputs)


@resampler_op.gradient
def resampler_gradient(node: Node, grad: Tensor) -> Gradients:
    data, warp = node.inputs
    return list(resampler_grad_op(data, warp, convert_to_tensor(grad, name="grad_output")))


_DATA = np.sin(np.arange(36, dtype=np.float32)).reshape(2, 3, 3, 2)
_WARP = np.array(
    [[[0.3, 1.6], [-0.4, 2.7], [5, 0.5]], [[1.2, 0.7], [2.4, 2.6], [0.1, -3]]], np.float32
)


@resampler_op.samples
def resampler_samples() -> Samples:
    yield Sample(_DATA, _WARP)
    yield Sample(_DATA, _WARP[:, 0])
    yield Bad(_DATA, np.float32(1), match="at least rank 1")


@resampler_grad_op.samples
def resampler_grad_samples() -> Samples:
    yield Sample(_DATA, _WARP, np.cos(_WARP), grad=False)


@export("contrib.resampler.resampler")
def resampler(data: Any, warp: Any, name: str | None = "resampler") -> Tensor:
    """Interpolate images linearly between their pixels, with zeros around images.

    Args:
      data: [batch, height, width, channels], floats.
      warp: [batch, ..., 2], places x and y, in pixels, of the type of `data`.
      name: of a scope.

    Returns:
      [batch, ..., channels].

    Raises:
      UnimplementedError: when run with images or places of another rank.
      InvalidArgumentError: when run with batches of different size.
    """
    with name_scope(name, "resampler", [data, warp]):
        images = convert_to_tensor(data, name="data")
        return resampler_op(images, convert_to_tensor(warp, name="warp"))
