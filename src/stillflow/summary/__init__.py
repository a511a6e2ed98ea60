"""tf.summary: event files for TensorBoard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # its public names stand in its modules

    def __getattr__(name: str) -> Any: ...
