"""Construction of layers from the arguments of functions of `tf.layers`."""

from __future__ import annotations

from typing import Any


def arguments(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a constructor, from the `locals()` with which it begins."""
    names = [name for name in given if name not in ("self", "__class__", "kwargs")]
    return {**{name: given[name] for name in names}, **given.get("kwargs", {})}


def call_layer(kind: Any, given: dict[str, Any], **call: Any) -> Any:
    """Make a layer and call it.

    Args:
      kind: the layer's class.
      given: the `locals()` of a function that takes `inputs`, `reuse` and what `kind` takes.
      **call: arguments of the call.
    """
    inputs, reuse = given.pop("inputs"), given.pop("reuse")
    return kind(**given, _scope=given["name"], _reuse=reuse).apply(inputs, **call)
