"""Batch normalization by native loops, together with frequent consumers.

Torch's kernels read an image once more, add up in float32 all along, and leave the sum with a
residual branch and the ReLU to passes of their own.
"""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops import native_kernels


def train(
    x: Any, scale: Any, offset: Any, epsilon: float, other: Any, relu: bool
) -> tuple[Any, Any, Any, Any]:
    """Normalize with the statistics of the batch.

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
    native_kernels.call(
        "batch_norm_train", x.data_ptr(), x.numel() // channels, channels, scale.data_ptr(),
        offset.data_ptr(), epsilon, None if other is None else other.data_ptr(), relu,
        result.data_ptr(), mean.data_ptr(), variance.data_ptr(), biased.data_ptr(),
    )  # fmt: skip
    return result, mean, variance, biased


def gradient(
    grad: Any, relu: Any, x: Any, scale: Any, mean: Any, variance: Any, epsilon: float, result: Any
) -> tuple[Any, Any, Any]:
    """Return the gradients of `train` for image, scale and offset.

    Args:
      grad: of the result.
      relu: the result, if `grad` is to pass only where that is above 0; otherwise None.
      mean, variance: as `train` found them; the variance biased.
      result: receives the gradient for the image; may be `grad`.
    """
    dscale, doffset = torch.empty_like(scale), torch.empty_like(scale)
    channels = x.shape[-1]
    native_kernels.call(
        "batch_norm_gradient", grad.data_ptr(), None if relu is None else relu.data_ptr(),
        x.data_ptr(), x.numel() // channels, channels, scale.data_ptr(), mean.data_ptr(),
        variance.data_ptr(), epsilon, result.data_ptr(), dscale.data_ptr(), doffset.data_ptr(),
    )  # fmt: skip
    return result, dscale, doffset
