"""Adjusting contrast, hue and saturation of images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops import native_calls
from stillflow.ops.image.sizes import same_with_rank_at_least
from stillflow.ops.input_ranks import kernel_ranks
from stillflow.ops.samples import Bad, Sample, Samples

adjust_contrast_op = op("""
    AdjustContrast(images: T, contrast_factor: float, min_value: float, max_value: float)
        -> output: float
    T: {uint8, int8, int16, int32, int64, float, double}
""")
adjust_contrastv2_op = op("""
    AdjustContrastv2(images: T, contrast_factor: float) -> output: T
    T: {half, float} = float
""")
adjust_hue_op = op("""
    AdjustHue(images: T, delta: float) -> output: T
    T: {half, float} = float
""")
adjust_saturation_op = op("""
    AdjustSaturation(images: T, scale: float) -> output: T
    T: {half, float} = float
""")


def contrast_shape(node: Node) -> tuple[int | None, ...] | None:
    for index in range(1, len(node.inputs)):
        dims_lib.with_rank(node.dims(index), 0)
    return same_with_rank_at_least(node, 3)


adjust_contrast_op.shape(contrast_shape)
adjust_contrastv2_op.shape(contrast_shape)
adjust_contrastv2_op.check(kernel_ranks((1, 0, "contrast_factor must be scalar: {}")))


def colour_shape(node: Node) -> Any:
    return same_with_rank_at_least(node, 3)


adjust_hue_op.shape(colour_shape)
adjust_saturation_op.shape(colour_shape)

# ---- Contrast


def _contrast(images: Any, factor: Any) -> torch.Tensor:
    values = images.to(torch.float32)
    if not values.numel():
        return values
    mean = values.mean((-3, -2), keepdim=True)
    return (values - mean) * factor + mean


def _contrast_of_type(images: Any, factor: Any) -> torch.Tensor:
    result = _contrast(images, factor)
    return result.clone() if result is images else result.to(images.dtype)


def _clipped_contrast(images: Any, factor: Any, low: Any, high: Any) -> Any:
    return torch.maximum(torch.minimum(_contrast(images, factor), high), low)


@adjust_contrast_op.kernel
def adjust_contrast_kernel(node: Node) -> Kernel:
    return node.call(_clipped_contrast, *node.inputs)


@adjust_contrastv2_op.kernel
def adjust_contrastv2_kernel(node: Node) -> Kernel:
    return node.call(_contrast_of_type, *node.inputs)


# ---- Hue and saturation

# Which of (largest, middle, smallest) red, green and blue are in each sixth of the colour wheel.
_WHEEL = ((0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0), (1, 2, 0), (0, 2, 1))


_FAR = 24  # sixths of a circle: of larger rotations only the rest is computed


def _check(images: Any, what: str, number: Any) -> None:
    if number.dim() != 0:
        raise ValueError(f"{what} must be scalar: {dims_lib.to_string(tuple(number.shape))}")
    if images.shape[-1] != 3:
        raise ValueError(f"input must have 3 channels but instead has {images.shape[-1]} channels.")


def _by_loop(images: Any, is_hue: bool, number: Any, circles: int) -> torch.Tensor | None:
    """Colours changed by the loop in C, None where there is none for them."""
    if not native_calls.take(images):
        return None
    library: Any = native.library()
    result = torch.empty_like(images)
    library.adjust_colours(
        images.data_ptr(),
        images.numel() // 3,
        is_hue,
        float(number),
        circles,
        result.data_ptr(),
        torch.get_num_threads(),
    )
    return result


def _circles(turn: float) -> int:
    """Return the maximum number of circles by which rotated hues have to be brought back."""
    return int(abs(turn)) // 6 + 1


def _around(hue: Any, turn: float) -> torch.Tensor:
    """Return hues in sixths of a circle, brought back to [0, 6) after a rotation by `turn`."""
    if not abs(turn) <= _FAR:
        return torch.remainder(hue, 6)
    for _ in range(_circles(turn)):
        hue = torch.where(hue < 0, hue + 6, hue)
        hue = torch.where(hue >= 6, hue - 6, hue)
    return hue


def _pick(sixth: Any, parts: Any, wheel: Any) -> torch.Tensor:
    """Red, green and blue, chosen among `parts` [..., 3] by the sixth of the wheel."""
    table = torch.tensor(wheel, device=sixth.device)
    return torch.gather(parts, -1, table[sixth.clamp(0, len(wheel) - 1)])


def _hue(images: Any, delta: Any) -> torch.Tensor:
    _check(images, "delta", delta)
    turn = float(delta * 6)
    if abs(turn) <= _FAR and (found := _by_loop(images, True, turn, _circles(turn))) is not None:
        return found
    red, green, blue = images.to(torch.float32).unbind(-1)
    low_two, high_two = torch.minimum(red, green), torch.maximum(red, green)
    smallest, largest = torch.minimum(low_two, blue), torch.maximum(high_two, blue)
    middle = torch.maximum(low_two, torch.minimum(high_two, blue))
    rising = torch.where(blue < red, 1, torch.where(blue > green, 3, 2))
    falling = torch.where(blue < green, 0, torch.where(blue > red, 4, 5))
    sixth = torch.where(red < green, rising, falling)
    spread = largest - smallest
    ratio = (middle - smallest) / spread
    hue = sixth + torch.where(sixth % 2 == 0, ratio, 1 - ratio)
    hue = torch.where(spread == 0, torch.zeros_like(hue), hue)
    hue = _around(hue + turn, turn)
    sixth = hue.nan_to_num().long()
    ratio = hue - sixth
    ratio = torch.where(sixth % 2 == 0, ratio, 1 - ratio)
    parts = torch.stack([largest, smallest + ratio * spread, smallest], -1)
    return _pick(sixth, parts, _WHEEL).to(images.dtype)


def hue_of(red: Any, green: Any, blue: Any, largest: Any, spread: Any) -> torch.Tensor:
    """Return hues as parts of a circle, [0, 1]."""
    norm = (1 / 6) / spread
    hue = torch.where(
        red == largest,
        norm * (green - blue),
        torch.where(green == largest, norm * (blue - red) + 2 / 6, norm * (red - green) + 4 / 6),
    )
    hue = torch.where(spread > 0, hue, torch.zeros_like(hue))
    return torch.where(hue < 0, hue + 1, hue)


def _saturation(images: Any, scale: Any) -> torch.Tensor:
    _check(images, "scale", scale)
    if (found := _by_loop(images, False, scale, 0)) is not None:
        return found
    red, green, blue = images.to(torch.float32).unbind(-1)
    largest = torch.maximum(red, torch.maximum(green, blue))
    spread = largest - torch.minimum(red, torch.minimum(green, blue))
    zero = torch.zeros_like(largest)
    saturation = torch.where(largest > 0, spread / largest, zero)
    saturation = (saturation * scale).clamp(0, 1)
    hue = hue_of(red, green, blue, largest, spread) * 6
    chroma = saturation * largest
    rest = largest - chroma
    middle = chroma * (1 - (torch.remainder(hue, 2) - 1).abs())
    parts = torch.stack([chroma, middle, zero], -1)
    # A hue of a whole turn has no sixth of its own: TF leaves grey.
    wheel = (*_WHEEL, (2, 2, 2))
    return (_pick(hue.nan_to_num().long(), parts, wheel) + rest[..., None]).to(images.dtype)


@adjust_hue_op.kernel
def adjust_hue_kernel(node: Node) -> Kernel:
    return node.call(_hue, *node.inputs)


@adjust_saturation_op.kernel
def adjust_saturation_kernel(node: Node) -> Kernel:
    return node.call(_saturation, *node.inputs)


# ---- Samples


def _picture(*sizes: int) -> np.ndarray:
    return (0.5 + 0.5 * np.sin(np.arange(np.prod(sizes)) * 1.9)).reshape(sizes).astype(np.float32)


@adjust_contrastv2_op.samples
def adjust_contrastv2_samples() -> Samples:
    yield Sample(_picture(2, 3, 4, 3), np.float32(1.7), grad=False)
    yield Sample(_picture(2, 2, 3, 4, 1), np.float32(-0.5), grad=False)
    yield Bad(_picture(2, 3, 3), np.ones(2, np.float32), match="must be rank 0")


def _colour_samples(numbers: tuple[float, ...]) -> Samples:
    for number in numbers:
        yield Sample(_picture(2, 3, 3), np.float32(number), grad=False)
    yield Sample(np.full((1, 2, 3), 0.5, np.float32), np.float32(0.3), grad=False)
    yield Bad(_picture(2, 3, 4), np.float32(0.1), match="must have 3 channels but instead has 4")
    yield Bad(_picture(3, 3), np.float32(0.1), match="must be at least rank 3")


@adjust_hue_op.samples
def adjust_hue_samples() -> Iterator[Any]:
    yield from _colour_samples((0.2, -0.4, 1.3, -7.0))


@adjust_saturation_op.samples
def adjust_saturation_samples() -> Iterator[Any]:
    yield from _colour_samples((0.2, 3.0, -1.0))
