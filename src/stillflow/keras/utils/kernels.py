"""Kernels of convolutions as other libraries have them: the other way round."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.export import export
from stillflow.keras.backend.session import batch_set_value, get_value

_CONVOLUTIONS = {"Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose"}


def convert_kernel(kernel: Any) -> np.ndarray[Any, Any]:
    """Return a kernel, [sizes ..., channels, channels], 3 to 5-D, reversed along its sizes."""
    kernel = np.asarray(kernel)
    if not 3 <= kernel.ndim <= 5:
        raise ValueError("Invalid kernel shape:", kernel.shape)
    return np.flip(kernel, axis=tuple(range(kernel.ndim - 2))).copy()


@export("keras.utils.convert_all_kernels_in_model")
def convert_all_kernels_in_model(model: Any) -> None:
    """Reverses the kernels of a model's convolutions, for weights of Theano, or back."""
    kernels = [x.kernel for x in model.layers if type(x).__name__ in _CONVOLUTIONS]
    batch_set_value([(kernel, convert_kernel(get_value(kernel))) for kernel in kernels])
