"""Names of `tf.contrib.specs` that other modules define: those of `math`, and `summaries`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from stillflow_contrib.specs import summaries

_OTHERS = {name: value for name, value in vars(math).items() if not name.startswith("_")}
_OTHERS["summaries"] = summaries


def lookup(name: str) -> Callable[..., Any]:
    """`tf.contrib.specs.<name>`.

    Raises:
      AttributeError: if there is none.
    """
    try:
        return _OTHERS[name]
    except KeyError:
        message = f"module 'tensorflow.contrib.specs' has no attribute {name!r}"
        raise AttributeError(message, name=name) from None


def names() -> list[str]:
    """All that it has."""
    return sorted(_OTHERS)
