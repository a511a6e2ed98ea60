"""Names for objects of a graph that are not operations: layers, models, metrics."""

from __future__ import annotations

import re
import weakref
from collections import defaultdict
from collections.abc import Container
from typing import Any

from stillflow.graph.graph import innermost_graph

_counts: weakref.WeakKeyDictionary[Any, defaultdict[tuple[str, str], int]] = (
    weakref.WeakKeyDictionary()
)


def to_snake_case(name: str) -> str:
    """`Conv2DTranspose` as `conv2d_transpose`."""
    name = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    name = re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
    # A scope's name must not start with an underscore.
    return "private" + name if name.startswith("_") else name


def default_counts() -> defaultdict[tuple[str, str], int]:
    """Return the number of uses of each name in the default graph.

    That of a function counts while a layer is built outside of it.
    """
    return _counts.setdefault(innermost_graph().era, defaultdict(int))


def reset_counts() -> None:
    """Forget which names were given out."""
    _counts.clear()


def unique_object_name(
    name: str,
    name_uid_map: Any = None,
    avoid_names: Container[str] | None = None,
    namespace: str = "",
    zero_based: bool = False,
) -> str:
    """Return `name` with a number that was not given out yet.

    `name_uid_map` are counts by (namespace, name), by default the default graph's. Names
    `avoid_names` do not come out. If `zero_based`, the first is `name` itself, not `name_1`.
    """
    counts = default_counts() if name_uid_map is None else name_uid_map
    key = (namespace, name)
    while True:
        number = counts[key] if zero_based else counts[key] + 1
        counts[key] += 1
        proposed = f"{name}_{number}" if number else name
        if avoid_names is None or proposed not in avoid_names:
            return proposed
