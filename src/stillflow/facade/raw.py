"""``gen_*_ops`` functions: operations of ``tf.raw_ops`` under their old snake-case names."""

from __future__ import annotations

import functools
from typing import Any

from stillflow.ops import raw_ops


def generated(name: str, default: Any) -> Any:
    """Return the function for an operation's name in either spelling, or `default`.

    "l2_loss" takes arguments by position, "L2Loss" as in ``tf.raw_ops``.
    """
    camel = _index().get(name.replace("_", "").lower())
    if camel is None or name not in (camel, name.lower()):
        return default
    return raw_ops.lookup(camel) if name == camel else raw_ops.positional(camel)


@functools.cache
def _index() -> dict[str, str]:
    return {name.lower(): name for name in raw_ops.names()}
