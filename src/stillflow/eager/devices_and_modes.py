"""What `tf.contrib.eager` says of devices, and of operations that would run later."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from stillflow.graph.eager_mode import ASYNC, SYNC, enable_eager_execution
from stillflow.graph.export import export
from stillflow.platform import app


@export("contrib.eager.num_gpus")
def num_gpus() -> int:
    """The number of GPUs."""
    from stillflow.testing.environment import is_gpu_available

    if not is_gpu_available():
        return 0
    import torch

    return max(1, torch.cuda.device_count())


@export("contrib.eager.run")
def run(main: Any = None, argv: Any = None) -> None:
    """`tf.app.run` with operations that run when they are called."""
    enable_eager_execution()
    app.run(main, argv)


def _check(mode: Any) -> None:
    if mode not in (None, SYNC, ASYNC):
        raise ValueError(f"Execution mode should be None/SYNC/ASYNC. Got {mode}")


@export("contrib.eager.execution_mode")
@contextlib.contextmanager
def execution_mode(mode: Any) -> Iterator[None]:
    """A context of a mode; in any mode an operation is done when its call returns.

    Raises:
      ValueError: if there is no such mode.
    """
    _check(mode)
    yield


@export("contrib.eager.set_execution_mode")
def set_execution_mode(mode: Any) -> None:
    """Sets the mode of this thread; in any mode an operation is done when its call returns.

    Raises:
      ValueError: if there is no such mode.
    """
    _check(mode)


@export("contrib.eager.async_wait")
def async_wait() -> None:
    """Waits for operations: for none, as each is done when its call returns."""


@export("contrib.eager.async_clear_error")
def async_clear_error() -> None:
    """Forgets errors of operations that run later: there are none, as errors are raised at once."""
