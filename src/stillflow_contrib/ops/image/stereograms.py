"""Stereograms of random dots: one image that shows depth to two eyes.

After Thimbleby, Inglis and Witten, "Displaying 3D images: algorithms for single-image random-dot
stereograms" (1994). Rows do not depend on each other, so all rows are worked on at once.
"""

from __future__ import annotations

import math
import threading
from typing import Any, NamedTuple

import numpy as np

from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Bad, Sample, Samples

single_image_random_dot_stereograms_op = op(
    """
    SingleImageRandomDotStereograms(depth_values: T) -> image: uint8
    T: {double, float, int64, int32}
    hidden_surface_removal: bool = true
    convergence_dots_size: int = 8
    dots_per_inch: int = 72
    eye_separation: float = 2.5
    mu: float = .3333
    normalize: bool = true
    normalize_max: float = -100.0
    normalize_min: float = 100.0
    border_level: float = 0.0
    number_colors: int = 256
    output_image_shape: shape = [1024, 768, 1]
    output_data_window: shape = [1022, 757]
    """,
    differentiable=False,
    devices="host",
)
_PALETTE = 256  # more colours than that make three channels


@single_image_random_dot_stereograms_op.shape
def single_image_random_dot_stereograms_shape(node: Node) -> OutputDims:
    wanted = node.output_image_shape.as_list()
    channels = 3 if node.number_colors > _PALETTE else 1
    return (wanted[1], wanted[0], channels)


class CRandom:
    """The numbers of `rand()` of the GNU C library in a fresh process."""

    def __init__(self) -> None:
        state = [1]
        for _ in range(30):
            state.append(16807 * state[-1] % 0x7FFFFFFF)
        self._state = state + state[:3]
        self._lock = threading.Lock()
        self.draw(310)

    def draw(self, count: int) -> np.ndarray:
        """Return the next numbers, in [0, 2**31)."""
        with self._lock:
            numbers = self._state[-31:]
            for place in range(count):
                numbers.append((numbers[place] + numbers[place + 28]) & 0xFFFFFFFF)
            self._state = numbers[-31:]
        return np.array(numbers[31:], np.int64) >> 1


class _Plan(NamedTuple):
    """Sizes in pixels, and where the data lie in the image."""

    width: int
    height: int
    channels: int
    left: int
    top: int
    window: tuple[int, int]
    dots_end: int
    eyes: int
    mu: float


def _plan(node: Node) -> _Plan:
    width, height, channels = node.output_image_shape.as_list()
    across, down = node.output_data_window.as_list()
    spare, dots = height - down, node.convergence_dots_size
    top, end = int(spare / 2), height - 1
    if dots > 0:  # above the data, between data and dots, and below the dots
        top = max(0, spare - dots) // 3
        end -= top
    eyes = int(np.float32(node.eye_separation) * np.float32(node.dots_per_inch))
    channels = 3 if node.number_colors > _PALETTE else channels
    return _Plan(width, height, channels, int((width - across) / 2), top, (across, down), end,
                 eyes, float(np.float32(node.mu)))  # fmt: skip


def _levels(depths: np.ndarray, node: Node) -> np.ndarray:
    """Depths in [0, 1], 1 being nearest."""
    levels = depths.astype(np.float64)
    if node.normalize and levels.size:
        low, high = node.normalize_min, node.normalize_max
        if high < low:
            low, high = levels.min(), levels.max()
        with np.errstate(divide="ignore", invalid="ignore"):
            levels = (levels - low) / (high - low)
    return np.clip(np.nan_to_num(levels), 0, 1)


def _seen(levels: np.ndarray, plan: _Plan, border: float) -> np.ndarray:
    """Return the depth at each pixel of the image."""
    rows, columns = levels.shape
    x = columns * (np.arange(plan.width) - plan.left) / plan.window[0]
    y = rows * (np.arange(plan.height) - plan.top) / plan.window[1]
    depth = np.full((plan.height, plan.width), border)
    down, across = (y >= 0) & (y < rows), (x >= 0) & (x < columns)
    places = np.ix_(y[down].astype(int), x[across].astype(int))
    depth[np.ix_(down, across)] = levels[places]
    return depth


def _separation(depth: Any, plan: _Plan) -> Any:
    """Return the distance of the two eyes' pixels of a point."""
    exact = (1 - plan.mu * depth) * plan.eyes / (2 - plan.mu * depth)
    return np.trunc(exact + np.copysign(0.5, exact)).astype(np.int64)


def _hidden(depth: np.ndarray, plan: _Plan, border: float, eligible: np.ndarray) -> np.ndarray:
    """Return the eligible pixels that something nearer hides from one of the eyes."""
    steepness = float(np.float32(plan.mu) * np.float32(plan.eyes))
    width = plan.width
    hidden = np.zeros_like(eligible)
    y, x = np.nonzero(eligible)
    start = depth[y, x]
    step = 1
    while y.size:
        ray = start + 2 * (2 - plan.mu * start) * step / steepness
        clear = np.ones(y.size, bool)
        for place in (x - step, x + step):
            inside = (place >= 0) & (place < width)
            nearer = np.where(inside, depth[y, np.clip(place, 0, width - 1)], border)
            clear &= nearer < ray
        hidden[y[~clear], x[~clear]] = True
        on = clear & (ray < 1)
        y, x, start, step = y[on], x[on], start[on], step + 1
    return hidden


def _links(depth: np.ndarray, plan: _Plan, border: float, removal: bool) -> np.ndarray:
    """Return for each pixel one to its right of the same colour, or itself."""
    apart = _separation(depth, plan)
    left = np.arange(plan.width) - (apart / 2).astype(np.int64)
    right = left + apart
    linked = (left >= 0) & (right < plan.width)
    if removal:
        linked &= ~_hidden(depth, plan, border, linked)
    same = np.tile(np.arange(plan.width), (plan.height, 1))
    for x in range(plan.width):
        rows = np.nonzero(linked[:, x])[0]
        _link(same, rows, left[rows, x], right[rows, x])
    return same


def _link(same: np.ndarray, rows: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Links a left and a right pixel in each of the rows, keeping links in ascending order."""
    while rows.size:
        old = same[rows, left]
        between = (old != left) & (old < right)
        same[rows[~between], left[~between]] = right[~between]
        rows, left, right = rows[between], old[between], right[between]


def _coloured(same: np.ndarray, plan: _Plan, colours: int, draw: Any) -> np.ndarray:
    """Return the image: free pixels drawn from the right, the others like their links."""
    while not np.array_equal(further := np.take_along_axis(same, same, 1), same):
        same = further
    free = same == np.arange(plan.width)
    values = draw(int(free.sum()) * plan.channels)
    values = values % 2 * 255 if colours == 2 else values % 256
    image = np.zeros((*same.shape, plan.channels), np.uint8)
    image[:, ::-1][free[:, ::-1]] = values.reshape(-1, plan.channels)
    found: np.ndarray = np.take_along_axis(image, same[..., None], 1)
    return found


def _draw_dots(image: np.ndarray, plan: _Plan, size: int) -> None:
    """Two black squares that fall together when the eyes look right."""
    far = int(_separation(np.float64(0), plan))
    for middle in (plan.width // 2 - far // 2, plan.width // 2 + far // 2):
        left, top = middle - size // 2, plan.dots_end - size + 1
        image[max(top, 0) : max(plan.dots_end + 1, 0), max(left, 0) : max(left + size, 0)] = 0


@single_image_random_dot_stereograms_op.kernel
def single_image_random_dot_stereograms_kernel(node: Node) -> Kernel:
    plan, generator = _plan(node), node.own_state(CRandom)
    border, dots = float(np.float32(node.border_level)), node.convergence_dots_size
    if not (plan.eyes > 0 and math.isfinite(plan.mu) and plan.mu > 0):
        raise ValueError("eye_separation, dots_per_inch and mu must be positive")

    def stereogram(depths: Any) -> torch.Tensor:
        if depths.dim() != 2 or depths.numel() == 0:
            raise ValueError("depth_values must be a matrix that is not empty")
        depth = _seen(_levels(depths.cpu().numpy(), node), plan, border)
        same = _links(depth, plan, border, node.hidden_surface_removal)
        image = _coloured(same, plan, node.number_colors, generator.draw)
        if dots > 0:
            _draw_dots(image, plan, dots)
        return torch.from_numpy(image).to(depths.device)

    return stereogram


@single_image_random_dot_stereograms_op.samples
def single_image_random_dot_stereograms_samples() -> Samples:
    depths = np.array([[1, 2, 3, 3, 2, 1], [1, 2, 3, 4, 5, 2], [1, 2, 3, 4, 5, 6]], np.float32)
    small: dict[str, Any] = {
        "output_image_shape": [60, 40, 1], "output_data_window": [50, 30], "dots_per_inch": 10,
    }  # fmt: skip
    yield Sample(depths, **small)
    yield Sample(depths, number_colors=2, hidden_surface_removal=False, **small)
    yield Bad(depths[0], match="must be a matrix", **small)


@export("contrib.image.single_image_random_dot_stereograms")
def single_image_random_dot_stereograms(
    depth_values: Any,
    hidden_surface_removal: bool | None = None,
    convergence_dots_size: int | None = None,
    dots_per_inch: int | None = None,
    eye_separation: float | None = None,
    mu: float | None = None,
    normalize: bool | None = None,
    normalize_max: float | None = None,
    normalize_min: float | None = None,
    border_level: float | None = None,
    number_colors: int | None = None,
    output_image_shape: Any = None,
    output_data_window: Any = None,
) -> Tensor:
    """Return an image of random dots that shows depths to eyes that look through it.

    Args:
      depth_values: the depths, a matrix.
      hidden_surface_removal: whether points that one eye cannot see are left out.
      convergence_dots_size: of the two dots that help the eyes, in pixels; 0 draws none.
      dots_per_inch: of the screen.
      eye_separation: in inches.
      mu: how deep the picture is, as a part of the distance to it.
      normalize: whether depths are scaled to [0, 1]; they are clipped to that in any case.
      normalize_max: the depth that becomes 1.
      normalize_min: the depth that becomes 0; if it is larger than `normalize_max`, the smallest
        and the largest depth are taken.
      border_level: the depth around the data.
      number_colors: 2, 256 shades of gray, or more than 256 for colours.
      output_image_shape: width, height and channels of the image.
      output_data_window: width and height of the part of it that shows the data.

    Returns:
      `[height, width, channels]`, bytes.
    """
    return single_image_random_dot_stereograms_op(
        depth_values, hidden_surface_removal=hidden_surface_removal,
        convergence_dots_size=convergence_dots_size, dots_per_inch=dots_per_inch,
        eye_separation=eye_separation, mu=mu, normalize=normalize, normalize_max=normalize_max,
        normalize_min=normalize_min, border_level=border_level, number_colors=number_colors,
        output_image_shape=output_image_shape, output_data_window=output_data_window,
    )  # fmt: skip
