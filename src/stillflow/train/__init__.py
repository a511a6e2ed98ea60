"""`tf.train`: optimizers, learning-rate schedules, moving averages, the global step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow._namespace import attach

if TYPE_CHECKING:  # its public names stand in its modules

    def __getattr__(name: str) -> Any: ...


attach(__name__)
