"""Conversion of Keras' objects to and from JSON."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from stillflow.graph.export import export
from stillflow.util import tf_decorator, tf_inspect

_custom_objects: dict[str, Any] = {}


@export("keras.utils.get_custom_objects")
def get_custom_objects() -> dict[str, Any]:
    """Return the custom objects by name; changing it changes them."""
    return _custom_objects


@export("keras.utils.CustomObjectScope")
class CustomObjectScope:
    """A context in which dictionaries {name: object} add to the custom objects."""

    def __init__(self, *args: Mapping[str, Any]) -> None:
        self.custom_objects = args
        self.backup: dict[str, Any] = {}

    def __enter__(self) -> CustomObjectScope:
        self.backup = dict(_custom_objects)
        for objects in self.custom_objects:
            _custom_objects.update(objects)
        return self

    def __exit__(self, *args: Any, **kwargs: Any) -> None:
        _custom_objects.clear()
        _custom_objects.update(self.backup)


@export("keras.utils.custom_object_scope")
def custom_object_scope(*args: Mapping[str, Any]) -> CustomObjectScope:
    """Return the same as `CustomObjectScope`."""
    return CustomObjectScope(*args)


@export("keras.utils.serialize_keras_object")
def serialize_keras_object(instance: Any) -> Any:
    """Return a function's name, or {"class_name": ..., "config": its arguments}; None for None.

    Raises:
      ValueError: if the object has neither a name nor a `get_config`.
    """
    _, instance = tf_decorator.unwrap(instance)
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        return {"class_name": type(instance).__name__, "config": instance.get_config()}
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise ValueError("Cannot serialize", instance)


@export("keras.utils.deserialize_keras_object")
def deserialize_keras_object(
    identifier: Any,
    module_objects: Mapping[str, Any] | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:
    """Return the object that `serialize_keras_object` made `identifier` of; None for None.

    Args:
      identifier: a name, or {"class_name": ..., "config": ...}.
      module_objects: the objects that are known, by name.
      custom_objects: others, which go before them.
      printable_module_name: what is looked for, for messages.

    Raises:
      ValueError: if there is none.
    """
    custom = dict(custom_objects or {})
    known = {**(module_objects or {}), **_custom_objects, **custom}
    if identifier is None:
        return None
    if isinstance(identifier, str):
        if known.get(identifier) is None:
            raise ValueError(f"Unknown {printable_module_name}:{identifier}")
        found = known[identifier]
        return found() if inspect.isclass(found) else found
    if not isinstance(identifier, dict):
        raise ValueError(f"Could not interpret serialized {printable_module_name}: {identifier}")
    if "class_name" not in identifier or "config" not in identifier:
        raise ValueError(f"Improper config format: {identifier}")
    name, config = identifier["class_name"], identifier["config"]
    if known.get(name) is None:
        raise ValueError(f"Unknown {printable_module_name}: {name}")
    return _from_config(known[name], config, custom)


def _from_config(kind: Any, config: dict[str, Any], custom: dict[str, Any]) -> Any:
    if not hasattr(kind, "from_config"):
        with CustomObjectScope(custom):
            return kind(**config)
    if "custom_objects" in tf_inspect.getfullargspec(kind.from_config).args:
        return kind.from_config(config, custom_objects={**_custom_objects, **custom})
    with CustomObjectScope(custom):
        return kind.from_config(config)


def has_arg(fn: Any, name: str, accept_all: bool = False) -> bool:
    """Return True if a function takes an argument, by keywords of any name if `accept_all`."""
    spec = tf_inspect.getfullargspec(fn)
    return (accept_all and spec.varkw is not None) or name in spec.args
