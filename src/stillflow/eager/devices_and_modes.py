"""Settings of devices and of asynchronous execution in eager mode.

Values are copied to the device that needs them and operations are finished when their calls return,
for any settings; settings can be read back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stillflow.graph.eager_mode import ASYNC, SYNC, enable_eager_execution
from stillflow.graph.export import export
from stillflow.platform import app

_POLICIES = ("silent", "silent_for_int32", "warn", "explicit")


@dataclass
class _Asked:
    """Settings of the program."""

    synchronous: bool = True
    policy: str = "silent"


_asked = _Asked()


@export("config.experimental.get_synchronous_execution")
def get_synchronous_execution() -> bool:
    """Return True if synchronous execution was set; it is synchronous in any case."""
    return _asked.synchronous


@export("config.experimental.set_synchronous_execution")
def set_synchronous_execution(enable: Any) -> None:
    """Asks for calls that return when their operations are done (True or None), or before."""
    _asked.synchronous = enable is None or bool(enable)


@export("config.experimental.get_device_policy")
def get_device_policy() -> str:
    """Return the policy that was set for operations with inputs of other devices."""
    return _asked.policy


@export("config.experimental.set_device_policy")
def set_device_policy(device_policy: str | None) -> None:
    """Set the policy for inputs on other devices; they are copied in any case.

    Args:
      device_policy: "silent", "silent_for_int32", "warn" or "explicit"; None for the first.

    Raises:
      ValueError: for another one.
    """
    policy = "silent" if device_policy is None else device_policy
    if policy not in _POLICIES:
        raise ValueError(f"Not a valid device policy: {device_policy!r}")
    _asked.policy = policy


@export("contrib.eager.num_gpus")
def num_gpus() -> int:
    """Return the number of GPUs."""
    from stillflow.runtime.devices.devices import gpu_count

    return gpu_count()


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
    """Set a mode within the context; in any mode an operation is finished when its call returns.

    Raises:
      ValueError: if there is no such mode.
    """
    _check(mode)
    yield


@export("contrib.eager.set_execution_mode")
def set_execution_mode(mode: Any) -> None:
    """Set the mode of this thread; in any mode an operation is done when its call returns.

    Raises:
      ValueError: if there is no such mode.
    """
    _check(mode)


@export("contrib.eager.async_wait")
def async_wait() -> None:
    """Wait for operations: for none, as each is done when its call returns."""


@export("contrib.eager.async_clear_error")
def async_clear_error() -> None:
    """Forget errors of operations that run later: there are none, as errors are raised at once."""
