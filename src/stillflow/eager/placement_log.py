"""`tf.debugging.set_log_device_placement`: says where each operation runs, when it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.eager import callbacks
from stillflow.graph.export import export
from stillflow.runtime import native_log

_HOST = "/job:localhost/replica:0/task:0/device:CPU:0"


def _say(op_type: str, inputs: Any, attrs: Any, outputs: Sequence[Any], name: Any) -> None:
    device = next((tensor.device for tensor in outputs if hasattr(tensor, "device")), _HOST)
    native_log.info(f"Executing op {op_type} in device {device}")


@export("debugging.get_log_device_placement")
def get_log_device_placement() -> bool:
    """Return True if eager operations log their devices."""
    return _say in callbacks.active


@export("debugging.set_log_device_placement")
def set_log_device_placement(enabled: bool) -> None:
    """Has operations that run when they are called say on stderr where they run, or not.

    Sessions have `log_device_placement` in their `ConfigProto` for that.

    Args:
      enabled: whether they do.
    """
    if _say in callbacks.active:
        callbacks.active.remove(_say)
    if enabled:
        callbacks.active.append(_say)
