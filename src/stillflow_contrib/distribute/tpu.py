"""The strategy of TPUs, of which there are none: programs ask whether a strategy is one."""

from __future__ import annotations

from typing import Any

from stillflow.distribute.strategy import Strategy, unsupported


class TPUStrategy(Strategy):
    """Strategy of TPUs.

    Raises:
      tf.errors.UnimplementedError: when it is made.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise unsupported("tf.distribute.experimental.TPUStrategy")
