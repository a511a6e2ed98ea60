"""Number of shards of the computation that is being built."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any


class TpuContext(threading.local):
    """State of the computation that this thread builds.

    Attributes:
      number_of_shards: None outside of computations.
    """

    number_of_shards: int | None = None

    def set_number_of_shards(self, number_of_shards: int | None) -> None:
        """Says how many shards there are."""
        self.number_of_shards = number_of_shards


_current = TpuContext()


def get_tpu_context() -> TpuContext:
    """Return the context of this thread."""
    return _current


@contextlib.contextmanager
def tpu_shard_context(number_of_shards: int) -> Iterator[None]:
    """Set the number of shards of the computation that is built inside."""
    if _current.number_of_shards is not None:
        raise NotImplementedError("tpu_shard_context cannot be nested.")
    _current.set_number_of_shards(number_of_shards)
    try:
        yield
    finally:
        _current.set_number_of_shards(None)


def on_device_training_loop(func: Any) -> Any:
    """Mark a function whose loop on the device is one step."""
    func.step_marker_location = "STEP_MARK_AT_TOP_LEVEL_WHILE_LOOP"
    return func
