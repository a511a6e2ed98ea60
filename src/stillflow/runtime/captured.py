"""Steps on CUDA captured as a graph: one launch in place of one for every kernel.

Only pure steps of known shapes on one device are captured, together, once they have run as they
are a few times; what they read is copied to where the graph expects it. Whatever cannot be captured
goes on as it is.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import torch

# Libraries choose their kernels and make their workspaces in the first runs.
_BEFORE = 3


def is_wanted() -> bool:
    """Whether the environment asks for it: STILLFLOW_CUDA_GRAPHS=1."""
    return os.environ.get("STILLFLOW_CUDA_GRAPHS", "0") == "1"


class Captured:
    """A function of tensors on one device, replayed as a CUDA graph.

    Args:
      function: gives a tensor or a tuple of them, and has no effect.
      device: where all of it is computed.
    """

    def __init__(self, function: Callable[..., Any], device: Any) -> None:
        self._function = function
        self._device = device
        self._lock = threading.Lock()
        self._runs = 0
        self._graph: Any = None
        self._inputs: list[torch.Tensor] = []
        self._outputs: Any = None

    def __call__(self, *values: Any) -> Any:
        with self._lock:  # the graph has its tensors only once
            if self._graph is None and not self._is_captured(values):
                return self._function(*values)
            torch._foreach_copy_(self._inputs, list(values))
            self._graph.replay()
            # The next run writes over them.
            if isinstance(self._outputs, tuple):
                return tuple(output.clone() for output in self._outputs)
            return self._outputs.clone()

    def _is_captured(self, values: tuple[Any, ...]) -> bool:
        """Captures the function when it is time."""
        self._runs += 1
        if self._runs != _BEFORE or not values or not all(map(self._is_here, values)):
            return False
        inputs = [value.clone() for value in values]
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._outputs = self._function(*inputs)
        except Exception:  # a kernel that waits for the device, for example
            return False
        self._inputs, self._graph = inputs, graph
        return True

    def _is_here(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.device == self._device
