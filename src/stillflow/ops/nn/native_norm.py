"""Batch normalization by the loops in C, together with what often follows it.

Torch's kernels read an image once more, add up in float32 all along, and leave the sum with a
residual branch and the ReLU to passes of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch

_MOST = 4096  # channels; the loops keep a few rows on the stack


def applies(images: Sequence[Any], vectors: Sequence[Any]) -> bool:
    """Whether there is a loop for images of one shape, and vectors of a number per channel."""
    shape = images[0].shape
    channels = shape[-1:]
    return (
        all(is_plain(each) and each.shape == shape for each in images)
        and all(is_plain(each) and each.shape == channels for each in vectors)
        and 0 < shape[-1] <= _MOST
        and native.library() is not None
    )


def is_plain(tensor: Any) -> bool:
    """Whether a loop can take a tensor: contiguous float32 in the memory of the host.

    While torch.compile looks at a step none can: there is no memory yet.
    """
    return (
        tensor.dtype is torch.float32
        and tensor.is_cpu
        and tensor.is_contiguous()
        and not torch.compiler.is_compiling()
    )


def train(
    x: Any, scale: Any, offset: Any, epsilon: float, other: Any, relu: bool
) -> tuple[Any, Any, Any, Any]:
    """Normalizes with the statistics of the batch.

    Args:
      x: float32, channels last, not empty.
      other: added to the result, if it is not None.
      relu: whether what is negative becomes 0 then.

    Returns:
      The result; the mean, the unbiased and the biased variance of each channel.
    """
    result = torch.empty_like(x)
    mean, variance, biased = (torch.empty_like(scale) for _ in range(3))
    channels = x.shape[-1]
    _call(
        "batch_norm_train", x.data_ptr(), x.numel() // channels, channels, scale.data_ptr(),
        offset.data_ptr(), epsilon, None if other is None else other.data_ptr(), relu,
        result.data_ptr(), mean.data_ptr(), variance.data_ptr(), biased.data_ptr(),
    )  # fmt: skip
    return result, mean, variance, biased


def gradient(
    grad: Any, relu: Any, x: Any, scale: Any, mean: Any, variance: Any, epsilon: float
) -> tuple[Any, Any, Any]:
    """The gradients of `train` for image, scale and offset.

    Args:
      grad: of the result.
      relu: the result, if `grad` is to pass only where that is above 0; otherwise None.
      mean, variance: as `train` found them; the variance biased.
    """
    result = torch.empty_like(x)
    dscale, doffset = torch.empty_like(scale), torch.empty_like(scale)
    channels = x.shape[-1]
    _call(
        "batch_norm_gradient", grad.data_ptr(), None if relu is None else relu.data_ptr(),
        x.data_ptr(), x.numel() // channels, channels, scale.data_ptr(), mean.data_ptr(),
        variance.data_ptr(), epsilon, result.data_ptr(), dscale.data_ptr(), doffset.data_ptr(),
    )  # fmt: skip
    return result, dscale, doffset


def _call(name: str, *arguments: Any) -> None:
    if getattr(native.library(), name)(*arguments, torch.get_num_threads()):
        raise MemoryError(f"{name}: no memory for the sums of its channels")
